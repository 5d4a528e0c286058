// The package's builds: each engine loads the best build that it can run, and all of them train.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import * as et from 'etude-ml';

// Large enough for several threads. Prints the trained weights when the program ends.
const script = `
  import * as et from 'etude-ml';
  const waves = (size) => Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * (i + 1)));
  const trained = async (threads) => {
    et.setNumThreads(threads);
    et.setRandomSeed(1);
    const model = et.sequential([et.layers.dense({ units: 300, activation: 'tanh' }), et.layers.dropout({ rate: 0.2 }), et.layers.dense({ units: 1 })]);
    model.compile({ optimizer: 'adam', loss: 'mse' });
    await model.fit(et.tensor(waves(256 * 200), [256, 200]), et.tensor(waves(256), [256, 1]), { batchSize: 128, epochs: 3, verbose: 0 });
    return { threads: et.numThreads(), weights: model.getWeights().flatMap(({ data }) => [...data]) };
  };
  const runs = [await trained(1), await trained(2), await trained(4), await trained(1)];
  console.log(JSON.stringify({ variant: et.variant, runs }));`;

const needsFlag = Number(process.versions.node.split('.')[0]) < 22;

/** Runs the script with a build; the process has to end without a call of exit. */
function train(variant) {
  const flags = variant.startsWith('relaxed') && needsFlag ? ['--experimental-wasm-relaxed-simd'] : [];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', script], {
    cwd: import.meta.dirname, encoding: 'utf8', timeout: 120_000, maxBuffer: 1 << 27, env: { ...process.env, ETUDE_VARIANT: variant } });
  assert.deepEqual([status, stderr], [0, '']);
  return JSON.parse(stdout);
}

let expected;
for (const variant of ['simd', 'simd-threads', 'relaxed', 'relaxed-threads'])
  test(`${variant}: trains, to the same bits on any number of threads, and the program ends`, () => {
    const result = train(variant);
    assert.equal(result.variant, variant);
    assert.deepEqual(result.runs.map(({ threads }) => threads), variant.endsWith('threads') ? [1, 2, 4, 1] : [1, 1, 1, 1]);
    const [{ weights }, ...others] = result.runs;
    for (const other of others) assert.deepEqual(other.weights, weights);
    expected ??= weights;
    const furthest = Math.max(...weights.map((weight, i) => Math.abs(weight - expected[i])));
    // Relaxed SIMD rounds a multiply and an add once; without it all builds agree to the bit.
    assert.ok(furthest <= (variant.startsWith('relaxed') ? 1e-3 : 0), `${furthest}`);
  });

test('Node.js loads the best build that it can run', () => {
  const relaxed = !needsFlag || process.execArgv.includes('--experimental-wasm-relaxed-simd');
  et.numThreads();
  assert.equal(et.variant, relaxed ? 'relaxed-threads' : 'simd-threads');
});

test('an unknown build is an error', () => {
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', "import * as et from 'etude-ml'; et.numThreads()"], {
    cwd: import.meta.dirname, encoding: 'utf8', env: { ...process.env, ETUDE_VARIANT: 'fast' } });
  assert.equal(status, 1);
  assert.match(stderr, /\[ETUDE_VARIANT\] "fast" - expected one of simd, simd-threads, relaxed, relaxed-threads - /);
});
