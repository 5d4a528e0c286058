// Summarizes the benchmark's lines: medians over rounds, ratios, floors, and whether all targets trained the same.
import { cost, workload } from './definition.mjs';
import { targets } from './targets.mjs';

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** One line per target for one workload: medians of times, means of losses. */
export function summarise(lines) {
  const names = [...new Set(lines.map(({ target }) => target))];
  return Object.keys(targets).filter((target) => names.includes(target)).map((target) => {
    const rounds = lines.filter((line) => line.target === target);
    const bad = rounds.find(({ failed, cannot }) => failed || cannot);
    if (bad) return bad;
    const times = ['step_ms_median', 'step_ms_p10', 'cpu_ms_per_step'].map((key) => [key, median(rounds.map((line) => line[key]))]);
    return { ...rounds[0], ...Object.fromEntries(times), losses: meanLosses(rounds) };
  });
}

function meanLosses(rounds) {
  const steps = Object.keys(rounds[0].losses ?? {}).filter((step) => rounds.every(({ losses }) => step in losses));
  return Object.fromEntries(steps.map((step) => [step, Number(mean(rounds.map(({ losses }) => losses[step])).toPrecision(4))]));
}

/** The time for comparing targets: CPU time of one thread; wall time of several threads, because they wait busily. */
export const timeOf = ({ threads, cpu_ms_per_step: cpu, step_ms_median: wall }) => (threads > 1 ? wall : cpu);

/** The least time, in ms, of a step on one core with this peak. */
export function floor(name, { peak_gflops: gflops, gbytes_per_s: bandwidth }) {
  const { flops, bytes } = cost(workload(name));
  return { flops, bytes, ms: flops / gflops / 1e6 + bytes / bandwidth / 1e6 };
}

/** The difference of losses between seeds, and so between initial weights: it decreases with the length of training. */
const toleranceAt = (step) => (step < 64 ? 0.15 : step < 256 ? 0.1 : 0.05);

/** Complaints about targets that did not train the model of workloads.json, or whose loss differs from that of the first. */
export function disagreements(name, summaries) {
  const { parameters } = workload(name);
  const [reference, ...others] = summaries.filter(({ losses }) => losses && !name.startsWith('predict'));
  const complaints = summaries.filter((line) => line.losses && line.parameters !== parameters)
    .map((line) => `${line.target} trains ${name} with ${line.parameters} parameters - expected ${parameters}`);
  for (const other of others) {
    const step = Object.keys(reference.losses).filter((step) => step in other.losses).at(-1);
    const [a, b] = [reference.losses[step], other.losses[step]];
    if (!(Math.abs(a - b) <= toleranceAt(Number(step)) * Math.min(a, b))) // also false for a loss that is NaN or missing
      complaints.push(`${name}: mean loss after ${step} steps: ${a} of ${reference.target}, ${b} of ${other.target} - expected within ${100 * toleranceAt(Number(step))} %`);
  }
  return complaints;
}

const headings = ['', 'ms', '× floor', '/ native', '/ wasm', '2-thread gain', 'loss'];

/** The table of one workload: rows of cells. */
function rowsOf(name, summaries, peak) {
  const least = floor(name, peak);
  const of = (target) => summaries.find((line) => line.target === target && !line.failed && !line.cannot);
  const ratio = (a, b) => (a && b ? `${(a / b).toFixed(2)}×` : '–');
  const base = (name, { threads }) => of(threads > 1 ? `${name}, ${threads} threads` : name);
  return summaries.map((line) => {
    if (line.failed) return [line.target, `failed: ${line.failed}`];
    if (line.cannot) return [line.target, `cannot ${name.startsWith('predict') ? 'predict' : 'train'}: ${line.cannot}`];
    const time = timeOf(line);
    const step = Object.keys(line.losses).at(-1);
    const alone = of(line.target.replace(/, \d+ threads$/, ''));
    return [line.target, time.toPrecision(3), `${(time / least.ms).toFixed(2)}`, ...['native', 'wasm'].map((name) => base(name, line)).map((other) => ratio(time, other && timeOf(other))),
      line.threads > 1 ? ratio(alone?.step_ms_p10, line.step_ms_p10) : '', step ? `${line.losses[step]} (${step})` : ''];
  });
}

const title = (name, peak) => {
  const { flops, bytes, ms } = floor(name, peak);
  return `${name}: floor ${ms.toPrecision(3)} ms (${(flops / 1e6).toPrecision(4)} MFLOP at ${peak.peak_gflops} GFLOP/s${bytes ? `, ${(bytes / 1e6).toPrecision(3)} MB of update at ${peak.gbytes_per_s} GB/s` : ''})`;
};

export function textTable(name, summaries, peak) {
  const widths = [24, 9, 9, 10, 10, 14, 16];
  const lines = [headings, ...rowsOf(name, summaries, peak)].map((row) =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[0]) : row.length === 2 ? `  ${cell}` : cell.padStart(widths[i]))).join(''));
  return [`\n${title(name, peak)}`, ...lines].join('\n');
}

export function markdownTable(name, summaries, peak) {
  const row = (cells) => `| ${headings.map((_, i) => cells[i] ?? '').join(' | ')} |`;
  return [`\n### ${title(name, peak)}\n`, row(headings), row(headings.map((_, i) => (i ? '--:' : '---'))), ...rowsOf(name, summaries, peak).map(row)].join('\n');
}
