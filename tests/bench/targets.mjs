// The targets of a workload: Étude's builds and its peers, each a separate process that prints a JSON line.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (name) => fileURLToPath(new URL(name, import.meta.url));
const node = process.execPath;
// Relaxed SIMD is behind a flag in Node 20.
const relaxed = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];
const python = process.env.ETUDE_PYTHON ?? 'python3';

const trained = ['mlp', 'cnn', 'cnn2', 'tiny', 'lstm', 'attn'];
const deep = ['gru', 'mobile', 'resnet20', 'gpt'];
const predicted = ['predict-mlp', 'predict-cnn2'];
const all = [...trained, ...deep, 'big', ...predicted];

/** One of our builds: `preset` is that of ./dev build. */
const etude = (preset, threads, workloads, start) => ({ preset, threads, workloads, start: (name, { seed }) => [...start, '--threads', threads, '--seed', seed, name] });
const built = (preset) => path(`../../${process.env.ETUDE_BUILD_RELEASE && preset === 'release' ? process.env.ETUDE_BUILD_RELEASE : `build/${preset}`}/tests/bench/etude_bench`);
const native = (threads) => etude('release', threads, all, [built('release')]);
const wasm = (preset, threads, flags = []) => etude(preset, threads, [...trained, ...deep, ...predicted], [node, ...flags, `${built(preset)}.js`]);

const npm = (name, packageName, workloads, flags = [], cannot = []) => ({
  peer: true,
  threads: 1,
  workloads,
  cannot,
  version: () => `${packageName} ${JSON.parse(readFileSync(path(`peers/node_modules/${packageName}/package.json`), 'utf8')).version}`,
  missing: () => !existsSync(path(`peers/node_modules/${packageName}`)) && `npm package ${packageName} - run "npm ci" in tests/bench/peers`,
  start: (workload, { seed, seconds }) => [node, ...flags, path('peers/train.mjs'), name, workload, seed, seconds],
});
const pytorch = (threads) => ({
  peer: true,
  threads,
  workloads: all,
  version: () => `PyTorch ${spawnSync(python, ['-c', 'import torch; print(torch.__version__)'], { encoding: 'utf8' }).stdout.trim()}`,
  missing: () => spawnSync(python, ['-c', 'import torch']).status !== 0 && `Python package torch - run "./dev setup pytorch", or set ETUDE_PYTHON to a python that has it`,
  start: (workload, { seed, seconds }) => [python, path('peers/pytorch.py'), workload, seed, seconds, threads],
});

/** By name, in the order of the tables. `cannot`: workloads known to fail, which are run nevertheless. */
export const targets = {
  native: native(1),
  'native, 2 threads': native(2),
  wasm: wasm('wasm', 1),
  'wasm, 2 threads': wasm('wasm-threads', 2),
  'wasm-relaxed': wasm('wasm-relaxed', 1, relaxed),
  'wasm-relaxed, 2 threads': wasm('wasm-relaxed-threads', 2, relaxed),
  pytorch: pytorch(1),
  'pytorch, 2 threads': pytorch(2),
  'tfjs-wasm': npm('tfjs-wasm', '@tensorflow/tfjs-backend-wasm', [...trained, 'gru', 'gpt', ...predicted], [], ['cnn', 'cnn2', 'gru', 'gpt']),
  'jax-js-wasm': npm('jax-js-wasm', '@jax-js/jax', [...trained, 'gru', 'gpt'], relaxed),
};

/** The line that a target prints for a workload, or { failed }. */
export function measure(target, workload, options) {
  const [command, ...words] = targets[target].start(workload, options).map(String);
  const { status, signal, stdout, stderr, error } = spawnSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 26 });
  const line = stdout?.split('\n').find((text) => text.startsWith('{'));
  if (status === 0 && line) return { ...JSON.parse(line), target };
  return { target, workload, failed: stderr?.trim().split('\n').at(-1) || `ended with ${error?.message ?? signal ?? status}` };
}

/** The peak of this CPU: { peak_gflops, gbytes_per_s }. */
export const measurePeak = () => JSON.parse(spawnSync(built('release'), ['peak'], { encoding: 'utf8' }).stdout);

/** The workloads of our builds. */
export const ownWorkloads = () => spawnSync(built('release'), ['list'], { encoding: 'utf8' }).stdout.trim().split('\n');
