// Writes the input of Doxygen into build/docs-input: the public headers and the guides. Options are documented in rows
// (core/etude/classes/field.hpp), and classes by their ClassText (core/etude/classes/class_entry.hpp): this script turns
// these texts into comments for Doxygen. Files keep their paths and line numbers, so that warnings name the right ones.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The folders with public headers. Headers in their detail/ are private, as are execution/ and kernels/. */
const publicFolders = [
  'activations', 'base', 'callbacks', 'classes', 'constraints', 'data', 'devices', 'distribute', 'experiment', 'graph', 'initializers', 'layers', 'losses', 'metrics', 'ops',
  'optimizers', 'regularizers', 'saving', 'training',
];
const publicFiles = ['etude.hpp', 'eigen.hpp'];

// ---- headers ----

function header(text) {
  text = text.replace(/^ *\/\/\/.*$/gm, (line) => line.replaceAll('\\', '\\\\'));
  text = documentOptions(text);
  text = documentClasses(text);
  text = documentFactories(text);
  text = dropBoilerplate(text);
  text = documentOverloads(text);
  return linkRules(text);
}

/** Gives each member of a struct of options the text of its row. */
function documentOptions(text) {
  for (const { name } of structs(text)) {
    const { body } = structs(text).find((one) => one.name === name); // including the changes to inner structs
    const own = /static constexpr auto fields\(\)/.test(body);
    // Options that many structs share are a struct too: RecurrentOptions, and recurrent_fields.
    const shared = sharedRows().get(`${name.replace(/Options$/, '').replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()}_fields`);
    const at = text.indexOf(body);
    text = text.slice(0, at) + documentMembers(body, rowsIn(own ? fieldsFunction(body) : shared ?? '')) + text.slice(at + body.length);
    if (!own) continue;
    const owner = ownerOf(name, text);
    text = documentUndocumented(text, new RegExp(`^( *)struct ${name} \\{`, 'm'), owner ? `Options of @ref ${owner}.` : '');
  }
  return text;
}

/** Structs and classes, including inner ones, as {name, body}. */
function structs(text) {
  return [...text.matchAll(/^( *)(?:struct|class) (\w+)(?: final)?(?: : [^{;]*)? \{\n([^]*?)^\1\};/gm)].flatMap(([, , name, body]) => [
    ...structs(body),
    { name, body },
  ]);
}

/** The class with these options. */
function ownerOf(options, text) {
  return structs(text).find(({ body }) => new RegExp(`using Options = ${options};|\\bmake\\(const (?:\\w+::)*${options}&`).test(body))?.name;
}

function fieldsFunction(body) {
  const begin = body.indexOf('{', body.indexOf('static constexpr auto fields()'));
  return body.slice(begin, closing(body, begin) + 1);
}

/** Texts by the names of members, from calls of option<> and of functions such as layer_fields<>. */
function rowsIn(text) {
  const rows = new Map();
  for (const [, member, literals, required, shared] of text.matchAll(
    /option<&(?:\w+::)+(\w+)>\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)(,\s*Need::required)?|\b(\w+_fields)</g,
  )) {
    const parts = [...(literals ?? '').matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, part]) => part.replaceAll('\\"', '"').replaceAll('\\\\', '\\'));
    if (member) rows.set(member, parts.join('') + (required ? ' Required.' : ''));
    else if (shared) for (const [name, row] of rowsIn(sharedRows().get(shared) ?? '')) rows.set(name, row);
  }
  return rows;
}

/** The bodies of the functions that return rows of many structs, by name. */
function sharedRows() {
  sharedRows.found ??= new Map(
    headers().map((path) => readFileSync(join(root, path), 'utf8'))
      .flatMap((text) => [...text.matchAll(/^template <class \w+> constexpr auto (\w+_fields)\(\) \{/gm)].map((match) => {
        const begin = match.index + match[0].length - 1;
        return [match[1], text.slice(begin, closing(text, begin))];
      })),
  );
  return sharedRows.found;
}

/** One declaration per member, each after its text, on the first line of the declarations. */
function documentMembers(body, rows) {
  let result = '';
  for (const { comment, code, after } of statements(body)) {
    const members = declarators(code);
    const own = [...`${comment}${after}`.matchAll(/\/\/\/<? ?(.*)/g)].map(([, line]) => line).join(' ');
    // A comment before several members applies to each.
    if (!members?.some(({ name }) => rows.has(name)) && !(members?.length > 1 && own)) {
      result += comment + code + after;
      continue;
    }
    const declared = members.map(({ type, name, rest }) => {
      const row = rows.get(name);
      // The comment adds to the row's text, or repeats it.
      const said = row && own ? (alike(row, own) ? own : `@brief ${plain(row)} @details ${own}`) : row ? plain(row) : own;
      return `/** ${said} */ ${type} ${name}${rest};`;
    });
    const lines = (comment + code).split('\n').length - 1;
    const blank = comment.replace(/[^\n]/g, '');
    result += `${blank}  ${declared.join(' ')}${'\n'.repeat(lines - blank.length)}${after.replace(/\/\/\/<.*/, '')}`;
  }
  return result;
}

const alike = (row, comment) => comment.toLowerCase().includes(row.toLowerCase().slice(0, 20));

/** The statements of a class's body: the comment before each, its code, and the rest of its last line. */
function statements(body) {
  const result = [];
  for (let at = 0; at < body.length; ) {
    const [comment] = body.slice(at).match(/^(?:\s|\/\/[^\n]*\n)*/);
    const begin = at + comment.length;
    let end = begin;
    while (end < body.length && body[end] !== ';') {
      if ('({['.includes(body[end])) {
        const brace = body[end] === '{';
        end = closing(body, end);
        // A function's body ends a statement, an initializer's braces do not.
        if (brace && /^\s*(?:\n|$)/.test(body.slice(end + 1)) && !/^\s*[;,]/.test(body.slice(end + 1))) break;
      }
      if (body[end] === ':' && /(?:public|protected|private)$/.test(body.slice(begin, end)) && body[end + 1] !== ':') break;
      end += 1;
    }
    end = Math.min(end + 1, body.length);
    const [after] = body.slice(end).match(/^[^\S\n]*(?:\/\/[^\n]*)?(?:\n|$)|/);
    result.push({ comment, code: body.slice(begin, end), after });
    at = end + after.length;
    if (end === begin && !after) break;
  }
  return result;
}

/** The declarations of `std::vector<int> a = {}, b;`, as {type, name, rest}; nothing for other statements. */
function declarators(code) {
  if (!code.endsWith(';') || /^(?:using|template|friend|explicit|virtual|enum|struct|class)\b/.test(code)) return undefined;
  const [first, ...others] = splitAtCommas(code.slice(0, -1));
  const [, type, name, rest] = first.match(/^([\w:<>,\s*&.()]+?)(?:\s+|(?<=[*&]))(\w+)\s*((?:=|\{)[^]*)?$/) ?? [];
  if (!name) return undefined;
  const parsed = others.map((other) => other.trim().match(/^(\*?)(\w+)\s*((?:=|\{)[^]*)?$/));
  if (parsed.includes(null)) return undefined;
  const tidy = (part) => (part ? ` ${part.replace(/\s+/g, ' ')}` : '');
  return [{ type, name, rest: tidy(rest) }, ...parsed.map(([, star, name, rest]) => ({ type: type.replace(/\*$/, '') + star, name, rest: tidy(rest) }))];
}

function splitAtCommas(text) {
  const parts = [''];
  let depth = 0, quoted = false;
  for (const [index, letter] of [...text].entries()) {
    if (letter === '"' && text[index - 1] !== '\\') quoted = !quoted;
    if (!quoted) depth += '({[<'.includes(letter) ? 1 : ')}]>'.includes(letter) ? -1 : 0;
    if (letter === ',' && depth === 0 && !quoted) parts.push('');
    else parts[parts.length - 1] += letter;
  }
  return parts;
}

/** The index of the bracket that closes the one at `begin`. */
function closing(text, begin) {
  for (let at = begin, depth = 0; at < text.length; at += 1) {
    if (text[at] === '"') at += text.slice(at).match(/^"(?:[^"\\\n]|\\.)*"?/)[0].length - 1;
    else if (text.startsWith('//', at)) at = Math.max(at, text.indexOf('\n', at) - 1);
    else if ('({['.includes(text[at])) depth += 1;
    else if (')}]'.includes(text[at]) && --depth === 0) return at;
  }
  return text.length;
}

/** Gives classes without a comment their ClassText, and documents their constructors and `make` with options. */
function documentClasses(text) {
  for (const { name, body } of structs(text)) {
    const [said, about] = body.match(/static constexpr ClassText about\{([^]*?)\};/) ?? [];
    if (!said) continue;
    const strings = [...about.matchAll(/(\.\w+ = )?((?:"(?:[^"\\]|\\.)*"\s*)+)/g)];
    const text_ = strings.find(([, field], index) => (field ? field === '.text = ' : index === 1))?.[2].replace(/"\s*"|^"|"\s*$/g, '');
    text = documentUndocumented(text, new RegExp(`^( *)(?:class|struct) ${name}(?: final)?(?: : [^{;]*)? \\{`, 'm'), text_ ?? '');
    text = documentUndocumented(text, new RegExp(`^( *)static [\\w:<>]+ make\\(const [\\w:]+& `, 'm'), 'Creates an object with these options.');
    text = documentUndocumented(text, new RegExp(`^( *)(?:explicit )?${name}\\((?:const )?\\w*Options\\b&? options`, 'm'), 'Creates an object with these options.');
  }
  return text;
}

/** Documents factories and pointers, with links to their classes. */
function documentFactories(text) {
  return text
    .replace(/^inline constexpr Factory<(\w+)> (\w+);/gm, (line, type) => {
      const body = structs(text).find(({ name }) => name === type)?.body ?? '';
      const [, used, taken] = body.match(/using Options = (\w+);|\bmake\(const (\w+)&/) ?? [];
      const options = used ?? taken;
      return `/** Creates ${/^[AEIOU]/.test(type) ? 'an' : 'a'} @ref ${type}${options && options !== 'NoOptions' ? ` from @ref ${options}` : ''}. */ ${line}`;
    })
    .replace(/^(?<!\/\/\/.*\n)( *)(using (\w+) =\s+(?:ClassList|Concatenated)<)/gm, '$1/** The classes of a family. */ $2')
    .replace(/^(?<!\/\/\/.*\n)( *)(using (\w+)Ptr = std::shared_ptr<(?:const )?\3>;)/gm, '$1/** A shared @ref $3. */ $2');
}

/** Adds a comment before each match, unless the line above is one. */
function documentUndocumented(text, pattern, comment) {
  let from = 0;
  for (;;) {
    const match = text.slice(from).match(pattern);
    if (!match || !comment) return text;
    const at = from + match.index;
    if (!/\/\/\/[^\n]*\n(?: *template <[^\n]*\n)?$/.test(text.slice(0, at))) {
      const begin = at + match[1].length;
      text = `${text.slice(0, begin)}/** ${plain(comment)} */ ${text.slice(begin)}`;
      from = begin + comment.length + match[0].length;
    } else from = at + match[0].length;
  }
}

const operators = {
  'operator==': 'Whether all parts are equal.', 'operator<<': 'Writes it as text.',
  'operator+': 'The sum, elementwise.', 'operator-': 'The difference, or x with the other sign, elementwise.',
  'operator*': 'The product, elementwise.', 'operator/': 'The quotient, elementwise.',
};

/** A function directly below a documented one of the same name is an overload; operators have fixed texts. */
function documentOverloads(text) {
  let above = '', documented = false, ended = true;
  const lines = text.split('\n').map((line) => {
    if (/^\s*(?:\/\/\/|\/\*\*)/.test(line) && !/\*\/ *\S/.test(line)) documented = true;
    else if (!line.trim()) above = '';
    else if (ended) {
      const [, indent, name] = line.match(/^( *)(?!return\b)(?:[\w\[(\/].*?)??(?<![.>])\b(operator(?:\(\)|[^\s(]+)|\w+)\(/) ?? [];
      const known = operators[name];
      if (/\/\*\*|\/\/\/</.test(line)) documented = true;
      else if (name && !documented && (known || name === above)) {
        line = `${indent}/** ${known ?? '@overload'} */ ${line.slice(indent.length)}`;
        documented = true;
      }
      above = documented && name ? name : '';
      documented = false;
    }
    ended = /[;{}:]\s*(?:\/\/.*)?$|\/\/.*$|^\s*$|> *$/.test(line);
    return line;
  });
  return lines.join('\n');
}

/** Removes members that every class has and that need no documentation: rows, the ClassText, names for templates, deleted copies. */
function dropBoilerplate(text) {
  const blank = (code) => code.replace(/[^\n]/g, '');
  for (let at; (at = text.search(/^ *(?:template <class \w+ = \w+>\s+)?static constexpr auto fields\(\) \{/m)) >= 0; ) {
    const end = closing(text, text.indexOf('{', at)) + 1;
    text = text.slice(0, at) + blank(text.slice(at, end)) + text.slice(end);
  }
  return text
    .replace(/^ *static constexpr ClassText about\{[^]*?\};/gm, blank)
    .replace(/^ *using (?:Options|Product|Kind|MayBeWeighted) = \w+;/gm, blank)
    .replace(/^ *(?:virtual )?~\w+\(\)(?: override)?(?: = default)?;/gm, blank)
    .replace(/^ *[\w&:= ]+\([^()]*\)(?: noexcept)? = delete;/gm, blank)
    .replace(/^ *\w+& operator=\(\w+&&\) noexcept;/gm, blank);
}

/** A row's text, escaped for Doxygen. */
function plain(text) {
  return text.replace(/[<>]/g, (letter) => `\\${letter}`).replace(/([#%])/g, '\\$1');
}

/** Turns a rule in a comment, such as (L-28), into a link to the guide. */
function linkRules(text) {
  return text.replace(/^.*(?:\/\/\/|\/\*\*).*$/gm, (line) => line.replace(/\b([ACLMOR]-\d+)\b(?=[,;)])/g, '<a href="semantics.html#$1">$1</a>'));
}

// ---- guides ----

/** Gives a guide's page the name of its file, and each row of the table of rules an anchor. */
function guide(text, path) {
  const name = basename(path, '.md').replaceAll('-', '_');
  return text
    .replace(/(?<!`)`([^`\n]*'[^`\n]*)`(?!`)/g, '``$1``') // Doxygen treats ' as the end of a quotation
    .replace(/^# (.*)$/m, name === 'index' ? '# $1' : `# $1 {#${name}}`)
    .replace(/^\| ([ACLMOR]-\d+) \|/gm, '| <a name="$1"></a>$1 |');
}

// ---- files ----

/** All headers of core/etude, as paths from the root. */
function headers() {
  return readdirSync(join(root, 'core', 'etude'), { recursive: true })
    .filter((file) => file.endsWith('.hpp'))
    .map((file) => join('core', 'etude', file));
}

function isPublic(path) {
  const [, , folder, ...within] = path.split(sep);
  if (publicFiles.includes(path.slice(join('core', 'etude').length + 1))) return true;
  return publicFolders.includes(folder) && !within.includes('detail');
}

function write(path, text) {
  const copy = join(root, 'build', 'docs-input', path);
  mkdirSync(dirname(copy), { recursive: true });
  writeFileSync(copy, text);
}

rmSync(join(root, 'build', 'docs-input'), { recursive: true, force: true });
for (const path of headers().filter(isPublic)) write(path, header(readFileSync(join(root, path), 'utf8')));
for (const file of readdirSync(join(root, 'docs'))) {
  const read = () => readFileSync(join(root, 'docs', file), 'utf8');
  if (file.endsWith('.md')) write(join('docs', file), guide(read(), file));
  if (file.endsWith('.dox')) write(join('docs', file), read());
}
