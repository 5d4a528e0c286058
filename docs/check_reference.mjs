// Checks build/docs.json, written by TypeDoc: every factory of a layer, loss, … and every option has a text, which comes
// from the table of classes.
import { readFileSync } from 'node:fs';

const families = ['Layers', 'Losses', 'Metrics', 'Optimizers', 'Schedules', 'Initializers', 'Regularizers', 'Constraints', 'Callbacks'];

const reference = JSON.parse(readFileSync(new URL('../build/docs.json', import.meta.url), 'utf8'));
const complaints = [];
const found = new Set();
let texts = 0;
for (const type of reference.children) {
  const isFamily = families.includes(type.name);
  if (!isFamily && !/Options$/.test(type.name)) continue;
  if (isFamily) found.add(type.name);
  for (const member of type.children ?? []) {
    texts += 1;
    const comment = member.comment ?? member.signatures?.[0]?.comment;
    if (!comment?.summary?.some(({ text }) => text.trim())) complaints.push(`${type.name}.${member.name} has no text`);
  }
}
for (const family of families) if (!found.has(family)) complaints.push(`${family} is not in the reference`);
for (const complaint of complaints) console.error(complaint);
console.log(`JavaScript reference: ${texts} options and functions, ${complaints.length} complaints`);
process.exit(complaints.length ? 1 : 0);
