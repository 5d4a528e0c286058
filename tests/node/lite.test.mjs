// etude-ml/lite: it trains as the whole package does, and says of what it lacks which import has it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as full from 'etude-ml';
import * as lite from 'etude-ml/lite';

const dist = new URL('./node_modules/etude-ml/dist/', import.meta.url);

/** What a program of its own prints, as JSON, with `et` of an entry of the package. By an entry of pages it loads files asynchronously alone. */
function run(program, entry, variant = 'simd') {
  const text = `const et = await import(${JSON.stringify(entry)});
    const told = async (work) => { try { await work(); return 'nothing was thrown'; } catch (error) { return error instanceof et.EtudeError ? error.kind + ' ' + error.message : String(error); } };
    const waves = (shape, phase) => et.tensor(Float32Array.from({ length: shape.reduce((product, extent) => product * extent, 1) }, (_, i) => Math.sin(phase + 1.7 * (i + 1))), shape);
    const labels = (count, classes) => et.tensor(Int32Array.from({ length: count }, (_, i) => (i * 7) % classes), [count]);
    const said = [];
    await et.ready();
    et.setRandomSeed(5);
    ${program}
    console.log(JSON.stringify(said));`;
  const flags = variant === 'relaxed' && Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', text], { cwd: import.meta.dirname, encoding: 'utf8', env: { ...process.env, ETUDE_VARIANT: variant } });
  assert.deepEqual([status, stderr], [0, ''], text);
  return JSON.parse(stdout);
}
const page = (name) => new URL(`${name}.js`, dist).href;

const sessions = {
  'a multilayer perceptron that stops early': `
    const model = et.sequential([et.layers.dense({ units: 16, activation: 'relu', kernelRegularizer: 'l2' }), et.layers.batchNormalization(), et.layers.dropout({ rate: 0.3 }), et.layers.dense({ units: 4, activation: 'softmax' })]);
    model.compile({ optimizer: et.optimizers.adam({ learningRate: et.schedules.exponentialDecay({ initialLearningRate: 0.05, decaySteps: 5, decayRate: 0.9 }) }), loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
    const early = et.callbacks.earlyStopping({ patience: 2, restoreBestWeights: true }), seen = [];
    const { history } = await model.fit(waves([60, 9], 1), labels(60, 4), { epochs: 30, batchSize: 16, validationSplit: 0.25, verbose: 0, callbacks: [early, { onEpochEnd(epoch, logs) { seen.push(logs.loss); } }] });
    said.push(history, seen, early.stoppedEpoch, await model.evaluate(waves([60, 9], 1), labels(60, 4), { verbose: 0, returnDict: true }));`,
  'a convolutional network': `
    const model = et.sequential([et.input({ shape: [12, 12, 1] }), et.layers.rescaling({ scale: 0.5 }), et.layers.conv2d({ filters: 6, kernelSize: 3, activation: 'relu' }), et.layers.maxPooling2d(), et.layers.conv2d({ filters: 8, kernelSize: 3, padding: 'same', strides: 2 }),
      et.layers.batchNormalization(), et.layers.relu(), et.layers.averagePooling2d({ poolSize: 2, padding: 'same' }), et.layers.flatten(), et.layers.dense({ units: 3, activation: 'softmax', kernelInitializer: 'he_normal' })]);
    model.compile({ optimizer: et.optimizers.rmsprop({ learningRate: 0.01 }), loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
    said.push((await model.fit(waves([30, 12, 12, 1], 2), labels(30, 3), { epochs: 4, batchSize: 8, verbose: 0 })).history, Array.from((await model.predict(waves([5, 12, 12, 1], 3), { verbose: 0 })).data), model.countParams());`,
  'a recurrent network of words': `
    const model = et.sequential([et.layers.embedding({ inputDim: 11, outputDim: 6, maskZero: true }), et.layers.lstm({ units: 7, returnSequences: true }), et.layers.lstm({ units: 5, dropout: 0.2 }), et.layers.dense({ units: 1, activation: 'sigmoid' })]);
    model.compile({ optimizer: et.optimizers.sgd({ learningRate: 0.1, momentum: 0.9, nesterov: true, clipnorm: 1 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
    const words = et.tensor(Int32Array.from({ length: 24 * 8 }, (_, i) => (i * i) % 11), [24, 8]);
    said.push((await model.fit(words, labels(24, 2).reshape([24, 1]), { epochs: 4, batchSize: 7, verbose: 0 })).history, model.trainOnBatch(words, labels(24, 2).reshape([24, 1])));`,
  'a model of two inputs and two outputs': `
    const a = et.input({ shape: [6], name: 'a' }), b = et.input({ shape: [8, 3], name: 'b' });
    const left = et.layers.dense({ units: 5, activation: 'tanh' }).apply(a), right = et.layers.globalAveragePooling1d().apply(et.layers.conv1d({ filters: 5, kernelSize: 3, padding: 'same', activation: 'elu' }).apply(b));
    const both = et.layers.concatenate().apply([left, et.layers.add().apply([left, right])]);
    const model = et.model({ inputs: { a, b }, outputs: { price: et.layers.dense({ units: 1 }).apply(both), kind: et.layers.dense({ units: 3, activation: 'softmax' }).apply(et.layers.reshape({ targetShape: [10] }).apply(both)) } });
    model.compile({ optimizer: 'adam', loss: { price: 'huber', kind: 'categorical_crossentropy' }, metrics: { price: ['mae', 'mse'], kind: ['accuracy'] }, lossWeights: { price: 1, kind: 0.5 } });
    const kinds = et.tensor(Float32Array.from({ length: 60 }, (_, i) => Number(i % 3 === (i >> 2) % 3)), [20, 3]);
    said.push((await model.fit({ a: waves([20, 6], 1), b: waves([20, 8, 3], 2) }, { price: waves([20, 1], 3), kind: kinds }, { epochs: 4, batchSize: 6, verbose: 0, classWeight: undefined })).history);
    const lines = []; model.summary({ printFn: (line) => lines.push(line) }); said.push(lines);`,
};
for (const variant of ['simd', 'relaxed'])
  for (const [name, program] of Object.entries(sessions))
    test(`${variant}: ${name} trains to the same losses as in the whole package`, () => {
      const [of, ofFull] = ['lite', 'index'].map((entry) => run(program, page(entry), variant));
      assert.ok(JSON.stringify(of).length > 40);
      assert.deepEqual(of, ofFull);
    });

test('weights are saved to the same bytes, and each of both imports loads those of the other', async () => {
  const program = `
    const make = () => { const model = et.sequential([et.input({ shape: [4] }), et.layers.dense({ units: 3, activation: 'relu' }), et.layers.batchNormalization(), et.layers.dense({ units: 2 })]); model.compile({ loss: 'mse' }); return model; };
    const model = make();
    await model.fit(waves([16, 4], 1), waves([16, 2], 2), { epochs: 2, verbose: 0 });
    const bytes = await model.toBytes('safetensors'), other = make();
    await other.loadWeights(bytes);
    said.push(Array.from(bytes), Array.from((await model.predict(waves([3, 4], 5), { verbose: 0 })).data), Array.from((await other.predict(waves([3, 4], 5), { verbose: 0 })).data));`;
  const [[bytes, before, after], ofFull] = ['lite', 'index'].map((entry) => run(program, page(entry)));
  assert.deepEqual(before, after);
  assert.deepEqual([bytes, before, after], ofFull);
  const model = full.sequential([full.input({ shape: [4] }), full.layers.dense({ units: 3, activation: 'relu' }), full.layers.batchNormalization(), full.layers.dense({ units: 2 })]);
  await model.loadWeights(Uint8Array.from(bytes));
  assert.equal(model.getWeights().length, 8);
});

test('in Node.js it needs no wait, and saves weights to files', () => {
  const said = run(`
    const { mkdtempSync, rmSync } = await import('node:fs');
    const folder = mkdtempSync((await import('node:os')).tmpdir() + '/etude-lite-');
    const make = () => et.sequential([et.input({ shape: [2] }), et.layers.dense({ units: 1 })]), model = make(), other = make();
    model.saveWeights(folder + '/w.safetensors');
    other.loadWeights(folder + '/w.safetensors');
    rmSync(folder, { recursive: true });
    said.push(model.getWeights().map(({ data }) => [...data]), other.getWeights().map(({ data }) => [...data]));`.replace('await et.ready();', ''), 'etude-ml/lite');
  assert.deepEqual(said[0], said[1]);
  const { status, stdout } = spawnSync(process.execPath, ['-e', "const et = require('etude-ml/lite'); console.log(et.sequential([et.input({ shape: [2] }), et.layers.dense({ units: 3 })]).countParams())"], { cwd: import.meta.dirname, encoding: 'utf8' });
  assert.deepEqual([status, stdout], [0, '9\n']);
});

const lacking = (where, name) => `state [${where}] ${name ? `${name} is ` : ''}not in etude-ml/lite - expected a class or a function of etude-ml/lite - import it from 'etude-ml'.`;

test('a class, a call and an op that it lacks say which import has it, and the module stays usable', () => {
  const calls = [
    ['et.layers.conv3d({ filters: 1, kernelSize: 2 })', lacking('layers.conv3d', 'Conv3D')],
    ['et.layers.gru({ units: 1 })', lacking('layers.gru', 'GRU')],
    ['et.optimizers.lion()', lacking('optimizers.lion', 'Lion')],
    ["model.compile({ loss: 'poisson' })", lacking('compile', 'Poisson')],
    ["et.callbacks.modelCheckpoint({ filepath: 'x' })", lacking('callbacks.modelCheckpoint', 'ModelCheckpoint')],
    ['model.explain()', lacking('explain')],
    ['model.toJson()', lacking('model.toJson')],
    ["model.save('x')", lacking('model.save')],
    ["et.ops.einsum('ij,jk->ik', et.input({ shape: [2] }), et.input({ shape: [2] }))", lacking('ops.einsum')],
    ["et.ops.add(et.input({ shape: [2] }), 1)", lacking('ops.add')],
    ["et.data.csv(new Uint8Array(2))", lacking('data.csv')],
    ["et.loadModel('x')", lacking('loadModel')],
    ['new (class extends et.Layer {})()', lacking('Layer')],
    ["et.ready({ parts: ['data'] })", "value [ready] the part \"data\" - expected some of saving - import from 'etude-ml', which has it."],
  ];
  const said = run(`const model = et.sequential([et.layers.dense({ units: 1 })]);
    ${calls.map(([call]) => `said.push(await told(() => ${call}));`).join('\n')}
    model.compile({ loss: 'mse' });
    said.push(await told(() => model.fit([[1], [2]], [[1], [2]], { verbose: 0 })));`, page('lite'));
  assert.deepEqual(said, [...calls.map(([, text]) => text), 'nothing was thrown']);
});

test('it has the names of the package, and the classes of its types', async () => {
  assert.deepEqual(Object.keys(lite).sort(), Object.keys(full).sort());
  const declared = readFileSync(new URL('lite_classes.d.mts', dist), 'utf8');
  for (const [, family, names] of declared.matchAll(/^  (\w+): (.*);$/gm)) {
    const typed = [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name);
    assert.ok(typed.length > 0, family);
    const refuses = (name) => { try { lite[family][name](); } catch (error) { return error.message.includes('not in etude-ml/lite'); } return false; };
    assert.deepEqual(Object.keys(lite[family]).filter((name) => name !== 'inputLayer' && name !== 'lambda' && !refuses(name)).sort(), typed.sort());
  }
});
