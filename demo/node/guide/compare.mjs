// node compare.mjs LOG LOG  checks that a program of the guide reported the same results in both languages.
import { readFileSync } from 'node:fs';

const tolerance = 2e-3; // the same seed and order of samples, different order of additions

/** "own loss: loss=0.1 mae=0.2" -> ["own loss", {loss: 0.1, mae: 0.2}] for every such line. */
function reports(file) {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.match(/^([\w ]+):((?: \w+=\S+)+)$/))
    .filter((match) => match)
    .map(([, what, figures]) => [what, Object.fromEntries(figures.trim().split(' ').map((figure) => figure.split('=')))]);
}

const [native, wasm] = process.argv.slice(2).map(reports);
const complaints = native.length && native.length === wasm.length ? [] : [`${native.length} and ${wasm.length} reports - expected equal numbers`];
native.forEach(([what, figures], i) => {
  const others = wasm[i]?.[1] ?? {};
  const shared = Object.keys(figures).filter((name) => name in others);
  if (shared.length === 0) complaints.push(`${what}: no value is in both`);
  for (const name of shared) {
    const apart = Math.abs(figures[name] - others[name]);
    if (!(apart <= tolerance * Math.max(1, Math.abs(figures[name])))) complaints.push(`${what}: ${name} is ${figures[name]} natively and ${others[name]} in WebAssembly`);
  }
});
for (const complaint of complaints) console.error(`[${process.argv[2]}] ${complaint}`);
process.exitCode = complaints.length ? 1 : 0;
