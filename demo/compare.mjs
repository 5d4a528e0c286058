// node compare.mjs LOG LOG  prints the demo programs' measurements and checks that they trained the same model.
// A program's last line of output is one JSON object.
import { readFileSync } from 'node:fs';

const accuracyNeeded = 0.86;
const lossTolerance = 2e-3; // between targets: same seed, same shuffles, different order of additions

const results = process.argv.slice(2).map((file) => {
  const line = readFileSync(file, 'utf8').trimEnd().split('\n').at(-1);
  try {
    return JSON.parse(line);
  } catch {
    throw new Error(`[compare] ${file} ends with "${line}" - expected one JSON object - did the program fail?`);
  }
});

const columns = {
  target: (r) => r.target,
  'test accuracy': (r) => r.test_accuracy.toFixed(4),
  'final loss': (r) => r.final_loss.toFixed(5),
  'samples/s': (r) => Math.round(r.samples_per_s).toLocaleString('en'),
  'peak memory': (r) => `${r.peak_memory_mb.toFixed(0)} MB`,
};
const rows = [Object.keys(columns), ...results.map((r) => Object.values(columns).map((cell) => cell(r)))];
const widths = rows[0].map((_, i) => Math.max(...rows.map((row) => row[i].length)));
console.log();
for (const row of rows) console.log(row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('   '));

const losses = results.map((r) => r.final_loss);
const apart = Math.max(...losses) - Math.min(...losses);
const complaints = results
  .filter((r) => !(r.test_accuracy >= accuracyNeeded))
  .map((r) => `${r.target}: test accuracy ${r.test_accuracy} is below ${accuracyNeeded}`);
if (!(apart <= lossTolerance)) complaints.push(`the final losses are ${apart.toExponential(2)} apart, more than ${lossTolerance}`);
for (const complaint of complaints) console.error(complaint);
process.exitCode = complaints.length ? 1 : 0;
