// The parts of the module: a page loads them by et.ready, Node.js when they are first used.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const dist = new URL('./node_modules/etude-ml/dist/', import.meta.url);
const page = new URL('index.js', dist).href;
const folder = mkdtempSync(join(tmpdir(), 'etude-parts-'));
after(() => rmSync(folder, { recursive: true }));

/**
 * What a program of its own prints, as JSON. By the entry of pages it loads files asynchronously alone; `told` says how
 * something fails.
 */
function run(program, { entry = page, env = { ETUDE_VARIANT: 'simd' } } = {}) {
  const text = `const et = await import(${JSON.stringify(entry)});
    const told = async (work) => { try { await work(); return 'nothing was thrown'; } catch (error) { return error instanceof et.EtudeError ? error.kind + ' ' + error.message : String(error); } };
    const newModel = () => { const model = et.sequential([et.layers.dense({ units: 1 })]); model.compile({ loss: 'mse' }); model.build([1, 1]); return model; };
    const said = [];
    ${program}
    console.log(JSON.stringify(said));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', text], { cwd: import.meta.dirname, encoding: 'utf8', env: { ...process.env, ...env } });
  assert.deepEqual([status, stderr], [0, ''], text);
  return JSON.parse(stdout);
}
const lacking = (where, part) =>
  `state [${where}] the part "${part}" of the module is not loaded - expected a page to load it first - write \`await et.ready({parts: ['${part}']})\` first.`;

test('custom classes are registered before the module is loaded, and saved once its part is', () => {
  const program = `class Twice extends et.Layer {
      call(x) { return et.ops.multiply(x, 2); }
    }
    et.registerClass(Twice);
    await et.ready();
    const model = et.sequential([new Twice()]);
    model.build([1, 1]);
    said.push(await told(() => model.toJson()));
    await et.ready({ parts: ['saving'] });
    said.push(et.modelFromJson(model.toJson()).layers[0] instanceof Twice);`;
  assert.deepEqual(run(program), [lacking('model.toJson', 'saving'), true]);
});

test('in a page, a synchronous call into a part says which part to load, and works once it is loaded', () => {
  const calls = {
    data: [['utils.toCategorical', 'et.utils.toCategorical([1])'], ['data.csv', "et.data.csv(new Uint8Array(2))"], ['data.range', 'et.data.range(3)'], ['parseNpy', 'et.data.parseNpy(new Uint8Array(3))']],
    saving: [['model.toJson', 'model.toJson()'], ['serialize', 'et.losses.serialize(et.losses.meanSquaredError())'], ['callbacks.modelCheckpoint', "et.callbacks.modelCheckpoint({ filepath: 'x' })"], ['ops.roll', 'et.ops.roll(et.input({ shape: [2] }), 1)']],
    extras: [['layers.convLstm2d', 'et.layers.convLstm2d({ filters: 1, kernelSize: 2 })'], ['compile', "model.compile({ loss: 'ctc' })"], ['explain', 'model.explain()'], ['ops.einsum', "et.ops.einsum('ij,jk->ik', et.input({ shape: [2] }), et.input({ shape: [2] }))"]],
    preprocessing: [['layers.resizing', 'et.layers.resizing({ height: 2, width: 2 })']],
    callbacks: [['callbacks.csvLogger', "et.callbacks.csvLogger({ filename: 'x' })"], ['callbacks.tensorboard', "et.callbacks.tensorboard({ logDir: 'x' })"]],
  };
  for (const [part, all] of Object.entries(calls)) {
    const tell = all.map(([, call]) => `said.push(await told(() => ${call}));`).join('\n');
    const said = run(`await et.ready(); const model = newModel(); ${tell} await et.ready({ parts: ['${part}'] }); ${tell}`);
    all.forEach(([where], i) => {
      assert.equal(said[i], lacking(where, part));
      assert.doesNotMatch(said[all.length + i], /not loaded/);
    });
  }
});

test('in a page, adapt loads its part', () => {
  const program = `await et.ready({ parts: ['preprocessing'] });
    const layer = et.layers.normalization();
    await layer.adapt([[1, 10], [3, 30]]);
    said.push(layer.getWeights().map((weight) => weight.array()));
    await layer.adapt([[2, 10], [4, 30]]);
    said.push(layer.getWeights()[0].array(), await told(() => layer.adapt('x')));`;
  const [first, second, refused] = run(program);
  assert.deepEqual([first, second], [[[2, 20], [1, 100]], [3, 20]]);
  assert.match(refused, /^data \[tensor\] "x"/);
});

test('a part that a call awaits may be loaded by a synchronous call meanwhile', () => {
  const program = `
    import * as et from 'etude-ml';
    const model = et.sequential([et.layers.dense({ units: 1 })]);
    model.build([null, 1]);
    const bytes = model.toBytes(), later = et.ready({ parts: ['data'] });
    model.save(process.argv[1]);
    const three = et.data.range(3).cardinality();
    await later;
    console.log(three, (await bytes).length > 100, et.loadModel(process.argv[1]).countParams());`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program, join(folder, 'm')], { encoding: 'utf8' });
  assert.equal(stdout, '3 true 2\n', stderr);
});

test('the module stays usable after such an error', () => {
  const said = run(`await et.ready();
    const model = newModel();
    said.push(await told(() => et.callbacks.csvLogger({ filename: 'x' })), await told(() => model.fit([[1], [2]], [[1], [2]], { verbose: 0 })));`);
  assert.deepEqual(said, [lacking('callbacks.csvLogger', 'callbacks'), 'nothing was thrown']);
});

test('the core has all classes except those that preprocess, write or are rare', () => {
  const absent = run(`await et.ready();
    for (const family of ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'regularizers', 'constraints', 'callbacks'])
      for (const name of Object.keys(et[family])) {
        const found = /the part "(\\w+)"/.exec(await told(() => et[family][name]({ filename: 'x', filepath: 'x', backupDir: 'x', logDir: 'x' }))) ?? /the part "(\\w+)"/.exec(await told(() => et[family][name]()));
        if (found) said.push(family + '.' + name + ' ' + found[1]);
      }`);
  const names = [...new Set(absent)].sort();
  const expected = {
    callbacks: ['callbacks.csvLogger', 'callbacks.operationalMetrics', 'callbacks.remoteMonitor', 'callbacks.swapEmaWeights', 'callbacks.tensorboard'],
    saving: ['callbacks.backupAndRestore', 'callbacks.modelCheckpoint'],
    preprocessing: [
      'augMix', 'autoContrast', 'categoryEncoding', 'centerCrop', 'contrastLimitedAdaptiveHistogramEqualization', 'cutMix', 'discretization', 'equalization', 'hashedCrossing', 'hashing', 'integerLookup', 'maxNumBoundingBoxes', 'mixUp', 'normalization', 'pipeline', 'randAugment', 'randomBrightness',
      'randomColorDegeneration', 'randomColorJitter', 'randomContrast', 'randomCrop', 'randomElasticTransform', 'randomErasing', 'randomFlip', 'randomFourierFeatures', 'randomGaussianBlur', 'randomGrayscale', 'randomHue', 'randomInvert', 'randomPerspective',
      'randomPosterization', 'randomRotation', 'randomSaturation', 'randomSharpness', 'randomShear', 'randomTranslation', 'randomZoom', 'resizing', 'solarization',
      'stringLookup', 'textVectorization',
    ].map((name) => `layers.${name}`),
    extras: [
      ...['AveragePooling', 'MaxPooling'].flatMap((kind) => [1, 2, 3].map((rank) => `layers.adaptive${kind}${rank}d`)),
      ...[1, 2, 3].map((rank) => `layers.convLstm${rank}d`),
      ...['averagePooling', 'conv', 'cropping', 'globalAveragePooling', 'globalMaxPooling', 'maxPooling', 'spatialDropout', 'upSampling', 'zeroPadding'].map((name) => `layers.${name}3d`),
      'layers.additiveAttention', 'layers.alphaDropout', 'layers.conv3dTranspose', 'layers.einsumDense', 'layers.groupedQueryAttention', 'layers.reversibleEmbedding', 'layers.thresholdedRelu',
      ...['binaryIoU', 'meanTensor', 'meanRelativeError', 'sumOverBatchSize', 'concordanceCorrelation', 'ioU', 'meanIoU', 'oneHotIoU', 'oneHotMeanIoU', 'pearsonCorrelation', 'precisionAtRecall', 'r2Score', 'recallAtPrecision', 'sensitivityAtSpecificity', 'specificityAtSensitivity'].map((name) => `metrics.${name}`),
      ...['categoricalGeneralizedCrossEntropy', 'dice', 'tversky'].map((name) => `losses.${name}`), ...['adadelta', 'ftrl', 'lamb', 'lion', 'muon'].map((name) => `optimizers.${name}`), 'regularizers.orthogonal',
      'layers.locallyConnected1d', 'layers.locallyConnected2d', 'layers.melSpectrogram', 'layers.spectralNormalization', 'layers.stftSpectrogram', 'losses.binaryFocalCrossentropy', 'losses.categoricalFocalCrossentropy', 'losses.circle', 'losses.ctc', 'metrics.f1Score', 'optimizers.adafactor', 'optimizers.adagrad',
      'callbacks.profiler', 'optimizers.multiOptimizer', 'optimizers.scheduleFreeAdamw', 'schedules.linearCosineDecay', 'schedules.noisyLinearCosineDecay', 'initializers.stft',
      'constraints.minMaxNorm', 'constraints.radialConstraint', 'schedules.cosineDecayRestarts', 'metrics.fBetaScore', 'metrics.logCoshError', 'losses.logCosh', 'optimizers.adamax', 'optimizers.nadam',
      ...['losses', 'metrics'].flatMap((family) => [`${family}.categoricalHinge`, `${family}.squaredHinge`]),
      ...['activityRegularization', 'conv1dTranspose', 'cropping1d', 'depthwiseConv1d', 'separableConv1d', 'unitNormalization', 'upSampling1d', 'zeroPadding1d'].map((name) => `layers.${name}`),
    ],
  };
  assert.deepEqual(names, Object.entries(expected).flatMap(([part, all]) => all.map((name) => `${name} ${part}`)).sort());
});

test('training, its steps and its early end need no part', () => {
  const said = run(`await et.ready();
    const layers = [et.layers.conv2d({ filters: 2, kernelSize: 3, activation: 'relu' }), et.layers.batchNormalization(), et.layers.maxPooling2d(), et.layers.flatten(), et.layers.dropout({ rate: 0.5 }), et.layers.dense({ units: 2, activation: 'softmax', kernelRegularizer: 'l2' })];
    const x = et.tensor(Array.from({ length: 8 }, () => Array.from({ length: 8 }, () => Array.from({ length: 8 }, () => [Math.random()])))), y = [0, 1, 0, 1, 0, 1, 0, 1];
    const model = et.sequential(layers);
    model.compile({ optimizer: et.optimizers.adam({ learningRate: et.schedules.exponentialDecay({ initialLearningRate: 0.1, decaySteps: 2, decayRate: 0.9 }), clipnorm: 1 }), loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
    const { history } = await model.fit(x, y, { batchSize: 3, epochs: 3, validationSplit: 0.25, classWeight: { 0: 1, 1: 2 }, verbose: 0, callbacks: [et.callbacks.earlyStopping({ patience: 9, restoreBestWeights: true }), et.callbacks.reduceLrOnPlateau(), et.callbacks.terminateOnNan(), { onBatchEnd() {} }] });
    said.push(Object.keys(history), history.loss.length, model.stopTraining);
    said.push((await model.evaluate(x, y, { verbose: 0 })).length, (await model.predict(x, { verbose: 0 })).shape);
    model.summary({ printFn: () => {} });
    model.setWeights(model.getWeights());
    const words = et.sequential([et.layers.embedding({ inputDim: 9, outputDim: 4 }), et.layers.lstm({ units: 3 }), et.layers.dense({ units: 1 })], { trainStep(data) {
      const yPred = this.call(data.x, true), loss = this.computeLoss(data, yPred);
      this.optimizer.apply(et.gradients(loss, this.trainableVariables), this.trainableVariables);
      return this.computeMetrics(data, yPred, loss);
    } });
    words.compile({ optimizer: 'rmsprop', loss: 'mse' });
    async function* batches() { for (let i = 0; i < 3; ++i) yield [et.tensor([[1, 2], [3, 4]]), et.tensor([[1], [2]])]; }
    said.push((await words.fit(batches, { verbose: 0 })).history.loss.length);
    const input = et.input({ shape: [2] }), described = et.model({ inputs: [input], outputs: [et.layers.dense({ units: 1 }).apply(input)] });
    described.compile({ optimizer: 'sgd', loss: 'mse' });
    said.push(described.trainOnBatch([[1, 2]], [[1]]) >= 0);`);
  assert.deepEqual(said, [['loss', 'accuracy', 'val_loss', 'val_accuracy', 'learning_rate'], 3, false, 2, [8, 2], 1, true]);
});

test('functions that return a promise load their part themselves', () => {
  const npy = Buffer.concat([Buffer.from('\x93NUMPY\x01\0v\0', 'latin1'), Buffer.from("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }".padEnd(117) + '\n', 'latin1'), Buffer.from(Float32Array.of(3).buffer)]);
  const said = run(`said.push(Array.from((await et.data.readNpy(Uint8Array.from(${JSON.stringify([...npy])}))).data)); said.push(await told(() => et.data.range(3)));`);
  assert.deepEqual(said, [[3], 'nothing was thrown']);
  const streamed = run(`await et.ready(); const batches = newModel().predictStream([[1], [2], [3]], { batchSize: 2, verbose: 0 }); for await (const batch of batches) said.push(batch.shape[0]);`);
  assert.deepEqual(streamed, [2, 1]);
});

test('a page loads for a .keras file formats and archives besides saving, for a model.json tfjs, for a file of Keras 2 formats and keras2', () => {
  const others = ['data', 'callbacks', 'experiment', 'preprocessing', 'extras'];
  const load = (kind, absent) => run(`et.configure({ build: 'simd', parts: ${JSON.stringify(Object.fromEntries([...others, ...absent].map((part) => [part, `/nowhere/${part}.wasm`])))} });
    await et.ready();
    ${kind}`);
  const keras = "const bytes = await newModel().toBytes('keras'); said.push((await et.loadModel(bytes)).countParams());";
  const json = 'let kept; await newModel().save({ save: (artifacts) => { kept = artifacts; } }); said.push((await et.loadModel({ load: () => kept })).countParams());';
  const h5 = JSON.stringify(join(process.env.ETUDE_ROOT, 'tests/golden/keras/sequential2.h5'));
  const keras2 = `const { readFileSync } = await import('node:fs'); said.push((await et.loadModel(readFileSync(${h5}), { compile: false })).layers.length > 0);`;
  assert.deepEqual(load(keras, ['tfjs', 'keras2']), [2]);
  assert.deepEqual(load(json, ['formats', 'keras2', 'archives']), [2]);
  assert.deepEqual(load(keras2, ['tfjs', 'archives']), [true]);
  // A part brings those that it calls: in a page when it is asked for, in Node.js at the first use.
  const first = `said.push(et.loadModel(${h5}, { compile: false }).layers.length > 0);`;
  assert.deepEqual(run(`await et.ready({ parts: ['keras2'] }); ${first}`), [true]);
  assert.deepEqual(run(first, { entry: 'etude-ml' }), [true]);
});

test('a trial in a page loads its part, and that of TensorBoard if it writes for that', () => {
  const init = (tensorboard) => `const context = await et.experiment.init({ storage: ${JSON.stringify(join(folder, 'trial'))}, tensorboard: ${tensorboard} }); context.train.reportMetrics('own', 1, { a: 1 }); context.close();`;
  const loaded = (absent, text) => run(`et.configure({ build: 'simd', parts: ${JSON.stringify(Object.fromEntries(absent.map((part) => [part, `/nowhere/${part}.wasm`])))} }); ${text} said.push('done');`);
  assert.deepEqual(loaded(['data', 'callbacks', 'formats', 'archives', 'preprocessing', 'extras'], init(false)), ['done']);
  assert.deepEqual(loaded(['data', 'formats', 'archives', 'preprocessing', 'extras'], init(true)), ['done']);
  assert.match(run(`et.configure({ build: 'simd', parts: { callbacks: '/nowhere/callbacks.wasm' } }); said.push(await told(async () => { ${init(true)} }));`)[0], /^io \[ready\] cannot read/);
});

test('et.ready loads a part once, also after et.reload(), and refuses names that it does not know', () => {
  const said = run(`
    said.push(await told(() => et.ready({ parts: ['files'] })), await told(() => et.ready({ parts: 'data' })), await told(() => et.ready({ part: ['data'] })));
    await Promise.all([et.ready({ parts: ['data', 'data'] }), et.ready({ parts: ['data', 'saving'] }), et.ready()]);
    const model = newModel(), before = model.toJson().length > 0;
    await et.reload();
    said.push(before, await told(() => et.data.range(3)), newModel().toJson().length > 0, await told(() => et.callbacks.csvLogger({ filename: 'x' })));`);
  assert.match(said[0], /^value \[ready\] the part "files" - expected some of data, saving, formats, tfjs, keras2, archives, callbacks, experiment, preprocessing, extras - /);
  assert.match(said[1], /^value \[ready\] "data" as parts - expected an array - /);
  assert.match(said[2], /^value \[ready\] unknown option "part" - expected some of: parts - /);
  assert.deepEqual(said.slice(3), [true, 'nothing was thrown', true, lacking('callbacks.csvLogger', 'callbacks')]);
});

for (const variant of ['simd', 'simd-threads'])
  test(`${variant}: in Node.js a part is loaded when it is first used`, () => {
    const said = run(`
      said.push(et.data.range(4).cardinality());
      said.push(newModel().toJson().length > 0, await told(() => et.callbacks.tensorboard({ logDir: 'x' })));
      await et.ready({ parts: ['data', 'saving', 'callbacks'] });
      await et.reload();
      said.push(et.data.range(5).cardinality());`, { entry: 'etude-ml', env: { ETUDE_VARIANT: variant } });
    assert.deepEqual(said, [4, true, 'nothing was thrown', 5]);
  });

test('a part lies beside the module that et.configure names, or where it says', () => {
  for (const file of ['etude.wasm', 'etude.data.wasm', 'etude.saving.wasm']) copyFileSync(new URL(file, dist), join(folder, file));
  const data = readFileSync(new URL('etude.data.wasm', dist));
  for (const entry of ['etude-ml', page]) {
    const begin = (options) => `et.configure(${options}); await et.ready(${entry === page ? "{ parts: ['data'] }" : ''}); said.push(et.data.range(3).cardinality());`;
    const path = JSON.stringify(join(folder, 'etude.wasm')), bytes = (file) => `(await import('node:fs')).readFileSync(${JSON.stringify(join(folder, file))})`;
    for (const options of [`{ wasm: ${path} }`, `{ wasm: ${JSON.stringify(`${folder}/`)}, build: 'simd' }`, `{ wasm: ${bytes('etude.wasm')} }`,
      `{ wasm: ${bytes('etude.wasm')}, parts: { data: ${bytes('etude.data.wasm')} } }`, `{ build: 'simd', parts: { data: ${JSON.stringify(join(folder, 'etude.data.wasm'))} } }`])
      assert.deepEqual(run(begin(options), { entry }), [3], options);
  }
  assert.ok(data.length > 0);
});

test('a part that is missing, is something else or is of another build: an error that says so, and the module stays usable', () => {
  const other = join(folder, 'other');
  // The bytes of its link, in the names of its imports, are those of another build.
  const data = readFileSync(new URL('etude.data.wasm', dist));
  const [{ module: link }] = WebAssembly.Module.imports(new WebAssembly.Module(data));
  const changed = Buffer.from(data.toString('latin1').replaceAll(link, link.replace(/./g, (digit) => (digit === 'f' ? '0' : 'f'))), 'latin1');
  writeFileSync(`${other}.wasm`, changed);
  writeFileSync(`${other}.html`, '<!doctype html>');
  writeFileSync(`${other}.cut.wasm`, data.subarray(0, 1000));
  for (const entry of ['etude-ml', page])
    for (const [file, expected] of [['/nowhere/data.wasm', /^io \[ready\] cannot read "\/nowhere\/data\.wasm": ENOENT.*et\.configure\(\{ parts: \{ data: url \} \}\)\.$/],
      [`${other}.html`, /^io \[ready\] ".*other\.html" has 15 bytes, which begins with "<!doctype html>" - expected a WebAssembly module - let .* etude\.data\.wasm/],
      [`${other}.wasm`, /^io \[ready\] a file of the part "data" from another version of the package - expected the same version - /],
      [`${other}.cut.wasm`, /^io \[ready\] the part "data" does not start: .* - expected memory for it, and a file that is whole - /]]) {
      const said = run(`et.configure({ build: 'simd', parts: { data: ${JSON.stringify(file)} } }); await et.ready();
        said.push(await told(() => ${entry === page ? "et.ready({ parts: ['data'] })" : 'et.data.range(3)'}), await told(() => newModel().fit([[1]], [[1]], { verbose: 0 })));`, { entry });
      assert.match(said[0], expected);
      assert.equal(said[1], 'nothing was thrown');
    }
  assert.match(run("said.push(await told(() => et.configure({ parts: { files: 'x' } })));")[0], /^value \[ready\] the part "files"/);
});
