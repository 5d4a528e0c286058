// node ratios.mjs FILE  reads the benchmark's JSON lines and prints, per workload, each target's CPU time per step and how
// many times longer it takes than Étude natively and in WebAssembly.
import { readFileSync } from 'node:fs';

const lines = readFileSync(process.argv[2], 'utf8').split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));
const ours = (target) => ['native', 'wasm'].includes(target);

for (const workload of new Set(lines.map((line) => line.workload))) {
  const runs = lines.filter((line) => line.workload === workload && (line.threads ?? 1) === 1);
  const base = Object.fromEntries(runs.filter((run) => ours(run.target)).map((run) => [run.target, run.cpu_ms_per_step]));
  console.log(`\n${workload.padEnd(16)} ${'CPU ms/step'.padStart(12)} ${'/ native'.padStart(10)} ${'/ wasm'.padStart(10)}`);
  for (const { target, cpu_ms_per_step: cpu } of runs) {
    const times = (other) => (other ? `${(cpu / other).toFixed(2)}×` : '–').padStart(10);
    console.log(`${target.padEnd(16)} ${cpu.toPrecision(4).padStart(12)} ${times(base.native)} ${times(base.wasm)}`);
  }
}
