// node train.mjs tfjs-wasm|jax-js-wasm WORKLOAD SEED SECONDS  trains one workload with one peer and prints its JSON
// line: times and losses, or the reason of a failure.
import { workload } from '../definition.mjs';

const peers = {
  'tfjs-wasm': async () => (await import('./tfjs.mjs')).run,
  'jax-js-wasm': async () => (await import('./jax_js.mjs')).run,
};

const [target, name, seed, seconds] = process.argv.slice(2);
const work = workload(name);
const line = { target, workload: name, threads: 1, batch: work.batch };
const run = await peers[target]();
try {
  const { version, parameters, ...measured } = await run(work, { seed: Number(seed), seconds: Number(seconds) });
  console.log(JSON.stringify({ ...line, parameters, ...measured, version }));
} catch (error) {
  if (process.env.ETUDE_BENCH_STACKS) console.error(error);
  console.log(JSON.stringify({ ...line, cannot: String(error.message).split('\n')[0] }));
}
process.exit(0);
