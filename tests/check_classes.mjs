// Checks what a compiler does not know of the table of classes: that the factory of each class is called in C++ as the
// table says, and so in JavaScript, in configs and in string forms; and of ops: that JavaScript has each function.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const core = fileURLToPath(new URL('../core/etude', import.meta.url));
const headers = readdirSync(core, { recursive: true }).filter((file) => file.endsWith('.hpp'));

/** The same as core/etude/classes/detail/snake_case.hpp. */
const snakeCase = (name) => name.replace(/(?<=.)([A-Z])(?=[a-z])|(?<=[0-9])([A-Z])(?=[0-9])/g, '_$&').replace(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase();

const complaints = [];
let classes = 0;
for (const file of headers) {
  const text = readFileSync(join(core, file), 'utf8');
  /** The description of each class, by its C++ name. */
  const about = new Map();
  for (const [, type, body] of text.matchAll(/^(?:class|struct) (\w+)(?: : [^{]*)? \{\n([^]*?)^\};/gm)) {
    const [, said] = body.match(/static constexpr ClassText about\{([^]*?)\};/) ?? [];
    if (said) about.set(type, said);
  }
  for (const [, type, factory] of text.matchAll(/^inline constexpr Factory<(\w+)> (\w+);/gm)) {
    classes += 1;
    const said = about.get(type);
    if (!said) {
      complaints.push(`${file}: ${factory} makes a ${type}, which says nothing about itself in this file`);
      continue;
    }
    about.delete(type);
    const [, name] = said.match(/"([^"]+)"/);
    const [, given] = said.match(/\.factory = "([^"]+)"/) ?? [];
    const expected = given ?? snakeCase(name);
    if (factory !== expected) complaints.push(`${file}: class ${name} has the factory "${expected}", in C++ it is called ${factory}`);
  }
  for (const type of about.keys()) complaints.push(`${file}: class ${type} has no Factory`);
}

/** What JavaScript has no use for: what layers and gradients call. */
const onlyInCpp = new Set(
  'check_window convolution convolution_filter convolution_input einsum_equation max_pool normalized padded pool_argmax pool_gather pool_scatter replica_part scan to_bool to_floats upcast'.split(' '),
);
const bound = ['ops', 'more_ops'].map((name) => readFileSync(fileURLToPath(new URL(`../bindings/${name}.cpp`, import.meta.url)), 'utf8')).join('');
const ops = new Set();
for (const file of headers.filter((name) => name.startsWith('ops/')))
  for (const [, name] of readFileSync(join(core, file), 'utf8').matchAll(/^[A-Za-z:<>]+(?:, [A-Za-z:<>]+)? (\w+)\(/gm)) ops.add(name);
for (const name of ops)
  if (!onlyInCpp.has(name) && !bound.includes(`"ops.${name}(`)) complaints.push(`ops::${name}: no line in bindings/ops.cpp or more_ops.cpp`);
for (const name of onlyInCpp) if (!ops.has(name)) complaints.push(`ops::${name}: not in core/etude/ops`);

for (const complaint of complaints) console.error(complaint);
console.log(`classes: ${classes} classes, ${ops.size} ops, ${complaints.length} complaints`);
process.exit(complaints.length ? 1 : 0);
