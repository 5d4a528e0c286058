// Several processes on this machine: the time of a step, the time of a sum by its size, and what both give for more
// processes. `./dev bench processes`. RESULTS.md has what was measured, and not what the model gives for more processes.
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fit, speedup, sumTime } from './simulation.mjs';

const { values: options, positionals } = parseArgs({ allowPositionals: true, options: { rounds: { type: 'string', default: '3' } } });
const build = process.env.ETUDE_BUILD_RELEASE;
const names = positionals.length ? positionals : ['cnn2', 'mlp'];

function launch(count, ...words) {
  const { stdout, stderr, status } = spawnSync(join(build, 'native/gloo/etude-launch'), ['-n', String(count), join(build, 'tests/bench/etude_scale'), ...words], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${count} processes of etude_scale ${words.join(' ')} ended with status ${status}: ${stderr}`);
  return stdout.trim().split('\n').map((line) => JSON.parse(line));
}
const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const row = (cells) => console.log(cells.map((cell, i) => (i ? String(cell).padStart(14) : String(cell).padEnd(20))).join(''));
const rounded = (number) => (number >= 100 ? number.toFixed(0) : number.toPrecision(3));

console.log(`${cpus().length} processors; each process has one thread; ${options.rounds} rounds in turns, of which the table has the median`);

// ---- steps ----

console.log('strong scaling: the processes divide the batch of the workload; weak scaling: each has as many rows as one process had');
row(['workload', '1 process', '2 processes', 'times faster', 'median: times']);
const steps = new Map();
for (const name of names) {
  const one = [], strong = [], weak = [];
  for (let round = 0; round < Number(options.rounds); ++round) {
    one.push(...launch(1, 'strong', name));
    strong.push(...launch(2, 'strong', name));
    weak.push(...launch(2, 'weak', name));
  }
  const of = (lines, key) => median(lines.map((line) => line[key]));
  steps.set(name, { bytes: one[0].bytes, ms: of(one, 'ms_p10') });
  for (const [scaling, two, work] of [['strong', strong, 1], ['weak', weak, 2]])
    row([`${name}, ${scaling}`, ...[one, two].map((lines) => `${rounded(of(lines, 'ms_p10'))} ms`), ...['ms_p10', 'ms_median'].map((key) => rounded((work * of(one, key)) / of(two, key)))]);
}

// ---- sums ----

console.log('');
const rounds = Array.from({ length: Number(options.rounds) }, () => launch(2, 'sum'));
const sums = rounds[0].map(({ bytes }, i) => ({ processes: 2, bytes, ms: median(rounds.map((lines) => lines[i].ms_p10)) }));
const link = fit(sums);
console.log(`latency of a message: ${rounded(1e3 * link.latency)} µs; bandwidth: ${rounded(link.bandwidth / 1e3)} MB/s`);
row(['sum of', 'measured', 'by the model']);
for (const { processes, bytes, ms } of sums) row([`${bytes} bytes`, `${rounded(ms)} ms`, `${rounded(sumTime(link, processes, bytes))} ms`]);

// ---- more processes ----

console.log(`
How much faster than one process, if each process has its own processor, and they are connected as these two are.
The model: a sum is a ring, 2 (p - 1) rounds, each with the latency of a message and 1/p of the bytes. The work of a step is
divided evenly. Gradients are summed in packs of 1 MB beside the backward pass, which is two thirds of a step and computes as many
bytes of gradients at any time; the sum of the last pack follows it. Sums take no processor from the instructions. There are no
stragglers and no other traffic.`);
row(['workload', ...[2, 4, 16, 64, 256, 1024].map((count) => `${count}`)]);
for (const [name, { bytes, ms }] of steps)
  for (const scaling of ['strong', 'weak'])
    row([`${name}, ${scaling}`, ...[2, 4, 16, 64, 256, 1024].map((count) => rounded(speedup(link, { bytes, ms }, count, scaling)))]);
