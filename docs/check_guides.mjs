// Checks the guides: code is from a program that the tests run, or from a README; names of factories and targets of links
// exist; docs/semantics.md states each rule that core and tests cite.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const filesBelow = (folder, pattern) =>
  readdirSync(join(root, folder), { recursive: true }).filter((file) => pattern.test(file) && !/node_modules/.test(file)).map((file) => join(folder, file));

const complaints = [];
const complain = (guide, text) => complaints.push(`docs/${guide}: ${text}`);

// ---- code ----

const languages = ['cpp', 'js', 'ts', 'cmake'];
const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line);

/** The line of `whole` after `part`, which is compared line by line; -1 if it does not occur. */
function find(part, whole, from) {
  for (let at = from; at + part.length <= whole.length; at += 1) if (part.every((line, i) => whole[at + i] === line)) return at + part.length;
  return -1;
}

/** Each block of code names its file above it: "From `demo/native/train.cpp`:". A line "// …" stands for omitted lines. */
function checkCode(guide, text) {
  for (const [, above, language, code] of text.matchAll(/^(.*)\n\n?```(\w+)\n([^]*?)^```$/gm)) {
    if (!languages.includes(language)) continue;
    const [, source] = above.match(/^From `([^`]+)`:$/) ?? [];
    if (!source || !existsSync(join(root, source))) {
      complain(guide, `a block of ${language} below "${above}" - expected the line "From \`a/file\`:" above it`);
      continue;
    }
    const whole = linesOf(read(source));
    let at = 0;
    for (const part of code.split(/^ *(?:\/\/|#) …$/m)) {
      at = find(linesOf(part), whole, at);
      if (at >= 0) continue;
      complain(guide, `${source} has no such lines: ${linesOf(part)[0]} …`);
      break;
    }
  }
}

// ---- names ----

const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replace(/([a-z])(\d+)D$/i, '$1$2d');
const families = ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'regularizers', 'constraints', 'callbacks', 'ops', 'activations'];
const known = new Set(['layers::input', 'layers::Layers', ...families.flatMap((family) => [`${family}::serialize`, `${family}::deserialize`])]);
for (const header of filesBelow('core/etude', /\.hpp$/)) {
  const text = read(header);
  let family = '';
  for (const line of text.split('\n')) {
    const [, name] = line.match(/^namespace (?:etude::)?(\w+) \{/) ?? [];
    if (name) family = name;
    const [, factory, called] = line.match(/^inline constexpr Factory<\w+> (\w+);|^(?!\s)(?:[\w:<>]+,? )+(\w+)\(/) ?? [];
    if (factory ?? called) known.add(`${family}::${factory ?? called}`);
  }
}

function checkNames(guide, text) {
  for (const [name, family, member] of text.matchAll(/\b(?:et\.)?(\w+)(?:::|\.)(\w+)(?=\()/g)) {
    if (!families.includes(family) || (name.startsWith('et.') !== name.includes(`${family}.`))) continue;
    if (!known.has(`${family}::${name.startsWith('et.') ? snakeCase(member) : member}`)) complain(guide, `${name} does not exist`);
  }
}

// ---- links and rules ----

function checkLinks(guide, text) {
  for (const [, target] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
    if (!existsSync(join(root, 'docs', dirname(guide), target))) complain(guide, `a link to ${target}, which does not exist`);
}

const stated = new Set([...read('docs/semantics.md').matchAll(/^\| ([A-Z]-\d+) \|/gm)].map(([, code]) => code));
function checkRules() {
  const cited = new Map();
  for (const file of [...filesBelow('core/etude', /\.[ch]pp$/), ...filesBelow('tests', /\.([ch]pp|mjs)$/)])
    for (const [, code] of read(file).matchAll(/[ (]([ACLMOR]-\d{1,2})\b(?=[,):.]| to | and )/g)) cited.set(code, file);
  for (const [code, file] of cited) if (!stated.has(code)) complain('semantics.md', `does not state ${code}, which ${file} cites`);
}

const guides = readdirSync(join(root, 'docs')).filter((file) => file.endsWith('.md'));
for (const guide of guides) {
  const text = read(join('docs', guide));
  checkCode(guide, text);
  checkNames(guide, text);
  checkLinks(guide, text);
}
checkRules();
for (const complaint of complaints) console.error(complaint);
console.log(`guides: ${guides.length} pages, ${stated.size} rules, ${complaints.length} complaints`);
process.exitCode = complaints.length ? 1 : 0;
