// Bad input: each is an EtudeError with what came, what was expected and what to do; the module stays usable.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, mse, signsOf, summing, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([8, 3]);
const y = signsOf(x);

const model = twoDense();
model.compile(mse());
await model.fit(x, y, quiet);
const fit = (options) => model.fit(x, y, { ...quiet, ...options });
const compiled = (options) => () => twoDense().compile(options);
const classifier = (units, options) => {
  const model = et.sequential([et.layers.dense({ units, activation: 'softmax' })]);
  model.compile({ loss: 'sparse_categorical_crossentropy', ...options });
  return model;
};

const table = {
  'rows of another width': [() => model.predict(waves([8, 4]), quiet), 'shape', '[8, 4]', '3'],
  'a vector where rows are expected': [() => summing().predict([], quiet), 'data'],
  'no x at all': [() => model.fit(undefined, y, quiet), 'data', 'x = undefined'],
  'text for data': [() => model.fit('text', y, quiet), 'data', '"text"'],
  'no rows': [() => model.fit(new et.Tensor(new Float32Array(0), [0, 3]), new et.Tensor(new Float32Array(0), [0, 1]), quiet), 'data', 'at least one sample'],
  'y longer than x': [() => model.fit(x, waves([9, 1]), quiet), 'data', 'x sizes: 8', 'y sizes: 9'],
  'y of another shape': [() => model.fit(x, waves([8, 5]), quiet), 'shape', '5'],
  'no y': [() => model.fit(x, undefined, quiet), 'data', 'Target data is missing'],
  'options for y': [() => model.fit(x, { epochs: 2 }), 'data', 'epochs'],
  'sample weights that are too few': [() => fit({ sampleWeight: [1] }), 'data', 'sampleWeight sizes: 1'],
  'a tensor of an unknown dtype': [() => model.fit(new et.Tensor(new Float32Array(24), [8, 3], 'float7'), y, quiet), 'dtype', 'float7'],
  'bool where floats are needed': [() => model.fit(x, y, { ...quiet, validationData: [new BigInt64Array(3), y] }), 'dtype', 'BigInt64Array'],

  'an unknown loss': [compiled({ loss: 'mean_square_error' }), 'value', '"mean_square_error"', 'mean_squared_error', 'sparse_categorical_crossentropy'],
  'an unknown optimizer': [compiled({ optimizer: 'adagradient', loss: 'mse' }), 'value', '"adagradient"', 'sgd', 'rmsprop', 'adam'],
  'an unknown metric': [compiled({ loss: 'mse', metrics: ['acuracy'] }), 'value', '"acuracy"', 'accuracy'],
  'an unknown activation': [() => et.layers.dense({ units: 1, activation: 'rellu' }), 'value', '"rellu"', 'relu'],
  'an unknown initializer': [() => et.layers.dense({ units: 1, kernelInitializer: 'gloro' }).call([[1]]), 'value', '"gloro"', 'glorot_uniform'],
  'a loss for an optimizer': [compiled({ optimizer: et.losses.meanSquaredError() }), 'value', 'optimizer', 'Loss'],
  'metrics that are no metrics': [compiled({ metrics: 3 }), 'value', 'metrics', '3'],
  'an unknown option of compile': [compiled({ optimiser: 'adam' }), 'value', '"optimiser"', 'optimizer, loss, lossWeights, metrics'],
  'an unknown option of fit': [() => fit({ batch_size: 3 }), 'value', '[fit]', '"batch_size"', 'batchSize, epochs'],
  'an unknown option of a layer': [() => et.layers.dense({ unit: 3 }), 'value', '[layers.dense]', '"unit"', 'units'],
  'an unknown option of an optimizer': [() => et.optimizers.sgd({ lr: 3 }), 'value', '"lr"', 'learningRate'],
  'an unknown option of a model': [() => et.sequential([], { train_step() {} }), 'value', '"train_step"', 'trainStep'],
  'options that are no object': [() => et.layers.dense(3), 'value', '3', 'units'],
  'no options where some are needed': [() => et.layers.dense(), 'value', 'units'],

  'a batch size that is not a number': [() => fit({ batchSize: NaN }), 'value', 'batchSize = NaN', 'a whole number'],
  'a batch size of 0': [() => fit({ batchSize: 0 }), 'value', '0'],
  'a fraction for a batch size': [() => fit({ batchSize: 2.5 }), 'value', 'batchSize = 2.5'],
  'text for a batch size': [() => fit({ batchSize: '32' }), 'value', 'batchSize = "32"'],
  'fewer than no epochs': [() => fit({ epochs: -1 }), 'value', 'epochs'],
  'endless epochs': [() => fit({ epochs: Infinity }), 'value', 'epochs = Infinity'],
  'a split of everything': [() => fit({ validationSplit: 1 }), 'value', 'validationSplit'],
  'no steps per epoch': [() => fit({ stepsPerEpoch: 0 }), 'value', '0'],
  'an unknown way to shuffle': [() => fit({ shuffle: 'rows' }), 'value', '"rows"', '"batch"'],
  'an unknown verbosity': [() => fit({ verbose: 7 }), 'value', '7'],
  'callbacks that are no list': [() => fit({ callbacks: {} }), 'value', 'callbacks', 'an array'],
  'a callback that is no object': [() => fit({ callbacks: ['early'] }), 'value', 'callbacks[0] = "early"'],
  'validation data that are none': [() => fit({ validationData: 3 }), 'data'],
  'a learning rate that is not finite': [() => et.optimizers.adam({ learningRate: Infinity }), 'value', 'inf'],
  'a learning rate that is not a number': [() => et.optimizers.adam({ learningRate: NaN }), 'value', 'learningRate = NaN'],
  'a negative learning rate, later': [() => { model.optimizer.learningRate = -1; }, 'value', '-1'],
  'a negative number of units': [() => et.layers.dense({ units: -3 }), 'value', '-3'],
  'a layer without units': [() => et.layers.dense({}), 'value', 'units'],
  'a dropout of everything': [() => et.layers.dropout({ rate: 1.5 }), 'value', '1.5'],
  'no steps per execution': [compiled({ loss: 'mse', stepsPerExecution: 0 }), 'value', 'stepsPerExecution'],

  'fit before compile': [() => twoDense().fit(x, y, quiet), 'state', '[fit]', 'compile'],
  'evaluate before compile': [() => twoDense().evaluate(x, y, quiet), 'state', '[evaluate]', 'compile'],
  'an optimizer before compile': [() => twoDense().optimizer, 'state', 'compile'],
  'no loss': [async () => { const model = twoDense(); model.compile(); await model.fit(x, y, quiet); }, 'state', 'No loss'],
  'a label that is no class': [() => classifier(2).fit([[1], [2]], [0.5, 1, 1], quiet), 'data'],
  'weights that are too few': [() => model.setWeights([[1]]), 'value', '4', '1'],
  'weights of another shape': [() => model.setWeights(model.getWeights().reverse()), 'shape', '[1]', '[3, 4]'],
  'a layer that is none': [() => et.sequential(['dense']), 'value', 'layers[0] = "dense"', 'a layer'],
  'layers that are no list': [() => et.sequential(et.layers.flatten()), 'value', 'an array'],
  'an unknown layer': [() => model.getLayer('nobody'), 'value', '"nobody"'],
  'a layer out of range': [() => model.getLayer(7), 'value', '7'],
  'a model without call': [() => et.model({ layers: [] }), 'value', 'call'],
  'adding to a model that is no list': [() => et.model({ call: (x) => x }).add(et.layers.flatten()), 'state', 'sequential'],
  'a seed that is none': [() => et.setRandomSeed('seed'), 'value', 'seed = "seed"'],
  'a negative time': [() => et.setYieldEvery(-1), 'value', '-1'],
  'an op outside a step': [() => et.ops.add(1, 2), 'value', 'ops.add'],
};
for (const [name, [action, kind, ...texts]] of Object.entries(table))
  test(`refuses ${name}`, () => assertError(action, kind, ...texts));

test('messages are spelled in JavaScript', async () => {
  const said = async (action) => { try { await action(); } catch (error) { return error.message; } return 'nothing was thrown'; };
  assert.match(await said(() => twoDense().fit(x, y, quiet)), /call model\.compile\(\{ loss: … \}\)\.$/);
  assert.match(await said(() => twoDense().optimizer), /call model\.compile\(\{ optimizer: … \}\)\.$/);
  assert.match(await said(() => twoDense().trainOnBatch(x, y)), /^\[trainOnBatch\] /);
  assert.match(await said(() => model.fit(x, y, { ...quiet, validationSplit: 2 })), /^\[fit\] validationSplit 2 - /);
  assert.match(await said(() => et.layers.conv2d({ filters: 1, kernelSize: 0 })), /kernelSize = .* - set kernelSize\.$/);
  assert.match(await said(() => et.optimizers.adam({ globalClipnorm: -1 })), /globalClipnorm = -1 .* - set globalClipnorm, or leave it out\.$/);
  assert.match(await said(() => et.data.range(3).shuffle(0)), /bufferSize = 0/);
  const peeks = twoDense({ trainStep(data) { et.inspect(data.x); } });
  peeks.compile(mse());
  assert.match(await said(() => peeks.fit(x, y, quiet)), /compile\(\{ runEagerly: true \}\)/);
  function* batches() { yield [x, y]; }
  assert.match(await said(() => model.fit(batches(), { ...quiet, validationSplit: 0.5 })), /`validationSplit` is only supported for arrays - pass validationData instead\.$/);
});

test('the place of an error has its JavaScript name', async () => {
  await assertError(() => et.loadModel('/nowhere'), 'io', '[loadModel] ');
  await assertError(() => et.modelFromJson('{"class_name": "Dense", "config": {"units": 1}}'), 'value', '[modelFromJson] ', 'pass the text that model.toJson() gave.');
  await assertError(() => et.data.range(3).assertCardinality(-7), 'value', '[Dataset.assertCardinality] ');
  await assertError(() => model.save('there://x'), 'value', '[Model.save] ', 'a page keeps files after openFiles().');
  const own = et.layers.dense({ units: 1, name: 'my_own' });
  await assertError(() => et.sequential([own], { name: 'my_model' }).predict(waves([2]), quiet), 'shape', '"my_own"');
});

test('each function refuses an argument of a wrong type: null, undefined, a string', async () => {
  await assertError(() => et.model(), 'value', '[model] undefined - expected an object of options');
  await assertError(() => et.model(null), 'value', '[model] null');
  await assertError(() => et.configure(5), 'value', '[configure] 5 - expected an object of options');
  await assertError(() => et.modelFromJson(model.toJson(), 'x'), 'value', '[modelFromJson] "x"');
  await assertError(() => new (class Own extends et.Layer {})([]), 'value', '[Layer] an array of 0');
  await assertError(() => et.cloneModel(null), 'value', '[cloneModel] null - expected a Model');
  await assertError(() => et.cloneModel(model, 'x'), 'value', '[cloneModel] "x" as cloneFunction - expected a function');
  await assertError(() => et.modelToDot(undefined), 'value', '[modelToDot] undefined - expected a Model');
  await assertError(() => et.plotModel(null), 'value', '[modelToDot] null - expected a Model');
  await assertError(() => new et.Tensor(), 'dtype', '[tensor] undefined for dtype uint8 - expected a Uint8Array');
  await assertError(() => new et.Tensor(new Float32Array(2)), 'shape', '[tensor] undefined as the shape');
  await assertError(() => x.reshape(null), 'shape', '[tensor] null as the shape');
  await assertError(() => x.slice(Symbol('first')), 'value', '[Tensor.slice] rows Symbol(first) to 8');
  await assertError(() => x.slice(0.5), 'value', '[Tensor.slice] rows 0.5 to 8');
  await assertError(() => et.data.gunzip(), 'value', '[gunzip] undefined - expected a Uint8Array');
  await assertError(() => et.data.gunzip(new Uint8Array(1), 5), 'value', '[gunzip] 5 - expected an object of options');
  await assertError(() => et.data.fromGenerator(null), 'value', '[data.fromGenerator] null - expected a function');
  await assertError(() => et.data.toArray(et.data.fromGenerator(() => {})), 'data', '[data] undefined - expected a generator');
});

test('null as options is none; another value that is no object of options is an error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'etude-')), path = join(folder, 'w.safetensors');
  after(() => rmSync(folder, { recursive: true }));
  model.save(join(folder, 'm'), null);
  model.saveWeights(path, null);
  model.loadWeights(path, null);
  await model.toBytes('keras', null);
  await et.ready(null);
  for (const made of [et.loadModel(join(folder, 'm'), null), et.modelFromJson(model.toJson(), null), et.sequential([], null)]) assert.ok(made instanceof et.Model);
  await assertError(() => et.utils.loadImg(join(folder, 'none.png'), null), 'io', '[utils.loadImg] cannot read');
  await assertError(() => et.utils.imageDatasetFromDirectory(join(folder, 'none'), null), 'io', 'none');
  await assertError(() => et.utils.loadImg(Symbol('path')), 'io', '[utils.loadImg] cannot read "Symbol(path)"');
  await assertError(() => new et.Batch(), 'data', 'x = undefined');
  await assertError(() => new et.Wrapper(null), 'value', '[Wrapper] layer = undefined');
  await assertError(() => et.experiment.runSearch({}), 'value', '[runSearch] worker = undefined');
  await assertError(() => et.data.toArray(), 'value', '[data.iterate] undefined - expected a Dataset');
  for (const given of [5, [], () => 1, 'a', true]) {
    await assertError(() => model.fit(x, y, given), 'value', '[fit] ', 'expected an object of options');
    await assertError(() => model.evaluate(x, y, given), 'value', '[evaluate] ', 'expected an object of options');
    await assertError(() => model.predict(x, given), 'value', '[predict] ', 'expected an object of options');
    await assertError(() => model.trainOnBatch(x, y, given), 'value', '[trainOnBatch] ', 'expected an object of options');
    await assertError(() => model.summary(given), 'value', '[summary] ', 'expected an object of options');
    await assertError(() => model.compile(given), 'value', '[compile] ', 'expected an object of options');
  }
});

test('an unknown option is an error that lists all options', async () => {
  for (const call of ['fit', 'evaluate', 'trainOnBatch', 'testOnBatch']) await assertError(() => model[call](x, y, { sampleWeights: [1] }), 'value', `[${call}] unknown option "sampleWeights" - expected some of: sampleWeight, `);
  await assertError(() => model.summary({ lineLength: 1 }), 'value', 'expected some of: printFn, ');
  await assertError(() => et.loadModel('none', { customObject: {} }), 'value', 'expected some of: customObjects, onProgress, compile - ');
  for (const call of ['save', 'saveWeights', 'loadWeights']) await assertError(() => model[call]('none', { progress: 1 }), 'value', 'expected some of: onProgress, ');
  await assertError(() => model.toBytes('keras', { onprogress() {} }), 'value', '[toBytes] unknown option "onprogress" - expected some of: onProgress');
  await assertError(() => et.utils.imageDatasetFromDirectory('none', { decoder: 1 }), 'value', 'expected some of: decode, ');
});

test('a class, or a factory that was not called, is a loss or an error', async () => {
  class Own extends et.Loss {}
  class Count extends et.Metric {}
  await assertError(compiled({ loss: Own }), 'value', '[compile] the class "Own" as loss - expected an object of it - write new Own().');
  await assertError(compiled({ loss: 'mse', metrics: [['mae', Count]] }), 'value', '[compile] the class "Count" as metrics');
  const made = twoDense();
  made.compile({ optimizer: et.optimizers.adam, loss: et.losses.meanSquaredError, metrics: [et.metrics.meanAbsoluteError] });
  assert.equal(made.optimizer.name, 'adam');
  assert.equal((await made.evaluate(x, y, quiet)).length, 2);
  await assertError(() => et.sequential([et.layers.flatten]), 'value', 'et.layers.flatten without a call');
});

test('Values, SymbolicTensors and Variables are no numbers', async () => {
  const comparing = (compare) => async () => {
    const other = twoDense();
    other.compile({ loss: (yTrue, yPred) => (compare(et.ops.mean(yPred)), et.ops.subtract(yTrue, yPred)) });
    await other.fit(x, y, quiet);
  };
  for (const compare of [(value) => value > 0, (value) => `${value}`, (value) => value + 1]) await assertError(comparing(compare), 'value', '[Value] a Value where JavaScript needs a number', 'et.ops.greater');
  await assertError(() => et.input({ shape: [1] }) * 2, 'value', '[SymbolicTensor]');
  await assertError(() => et.variable([1]) > 0, 'value', '[Variable]', 'variable.read()');
});

test('apply refuses arguments after the inputs, and says what to do instead', async () => {
  const input = et.input({ shape: [2, 3] });
  await assertError(() => et.layers.dropout({ rate: 0.5 }).apply(input, { training: true }), 'value', '[apply] an object with training', 'model.call(x, true)');
  await assertError(() => et.layers.lstm({ units: 2 }).apply(input, { initialState: [input] }), 'value', 'apply([x, state])');
  await assertError(() => et.layers.multiHeadAttention({ numHeads: 1, keyDim: 1 }).applyAll([input, input], { useCausalMask: true }), 'value', '[applyAll]', 'attend(');
  await assertError(() => et.layers.lambda((value) => value).apply(input, true), 'value', '[apply] true after the inputs');
  assert.deepEqual(et.layers.dense({ units: 1 }).apply(input, {}).shape, [-1, 2, 1]);
});

test('errors about data say what came', async () => {
  const clone = structuredClone(x);
  for (const action of [() => et.tensor(clone), () => model.fit(clone, y, quiet), () => model.fit({ x, y: structuredClone(y) }, quiet), () => model.call(clone)]) await assertError(action, 'data', 'as postMessage and structuredClone make it', 'et.tensor(data, shape)');
  await assertError(() => et.tensor([1n]), 'data', '1n among the data');
  await assertError(() => fit({ epochs: 1n }), 'value', 'epochs = 1n');
  await assertError(() => et.data.fromGenerator((function* () {})()), 'value', 'a Generator - expected a function');
  await assertError(() => new et.RaggedTensor(null, null), 'value', '[RaggedTensor] null as rowSplits');
  await assertError(() => new et.CsrMatrix(), 'value', '[CsrMatrix] undefined as columnOf');
  assert.deepEqual(et.tensor([1, 2], new Int32Array([2, 1])).shape, [2, 1]);
});

test('ops refuse further arguments, except those of Array.map', async () => {
  const at = et.input({ shape: [3] });
  await assertError(() => et.ops.softmax(at, 0), 'value', '[ops.softmax] 2 arguments - expected at most 1');
  await assertError(() => et.ops.take(at, at, 1), 'value', '[ops.take] 3 arguments - expected at most 2');
  assert.deepEqual([at, at].map(et.ops.relu).map(({ shape }) => shape), [[-1, 3], [-1, 3]]);
  assert.deepEqual(et.ops.relu(at, undefined).shape, [-1, 3]);
});

test('a sparse array of 2^32 - 1 entries is refused', async () => {
  const sparse = new Array(2 ** 32 - 1);
  for (const options of [{ loss: sparse }, { loss: 'mse', metrics: sparse }]) await assertError(() => twoDense().compile(options), 'value', 'a list of 4294967295 - expected at most');
  await assertError(() => model.predict(sparse, quiet), 'value', 'a list of 4294967295 - expected at most');
});

test('results of a wrong type from user code are refused', async () => {
  const counts = { state: () => ({ count: 1n }), restore() {} };
  const folder = mkdtempSync(join(tmpdir(), 'etude-errors-'));
  after(() => rmSync(folder, { recursive: true }));
  const backup = et.callbacks.backupAndRestore({ backupDir: folder });
  await assertError(() => fit({ callbacks: [counts, backup] }), 'value', '[state] an object with count that is not JSON', 'BigInt');
  const log = et.callbacks.csvLogger({ filename: 'log.csv', open: () => ({}) });
  await assertError(() => fit({ callbacks: [log] }), 'value', '[open] an object with nothing without append - expected');
});

test('a tensor whose array was transferred to a worker is refused', async () => {
  const sent = new et.Tensor(new Float32Array(24), [8, 3]);
  structuredClone(sent.data, { transfer: [sent.data.buffer] });
  await assertError(() => model.predict(sent, quiet), 'state', '[Tensor] shape [8,3], whose array was transferred');
});

test('a tensor whose data are not of its dtype is refused', async () => {
  await assertError(() => model.predict(new et.Tensor(new Float32Array(24), [8, 3], 'uint8'), quiet), 'dtype', 'a Float32Array for dtype uint8 - expected a Uint8Array');
  await assertError(() => model.fit(new et.Tensor(new Uint8Array(24), [8, 3], 'float32'), y, quiet), 'dtype', 'a Uint8Array for dtype float32 - expected a Float32Array');
  await assertError(() => new et.Tensor(new Float32Array(2), [2], 'int32'), 'dtype', 'a Float32Array for dtype int32 - expected an Int32Array');
  await assertError(() => new et.Tensor(new Float32Array(2), [2], 'float'), 'dtype', '"float" - expected one of: float32');
});

test('a result beyond JavaScript\'s memory is an ordinary error, and the module stays usable', async () => {
  const { slice } = Uint8Array.prototype;
  const big = 2 ** 20;
  /** V8's error for an array beyond its memory. */
  Uint8Array.prototype.slice = function (...bounds) {
    if (this.subarray(...bounds).length >= big) throw new RangeError('Array buffer allocation failed');
    return slice.apply(this, bounds);
  };
  const rows = new et.Tensor(new Float32Array(3 * big), [big, 3]);
  const wide = et.sequential([et.layers.dense({ units: big })]);
  wide.build([-1, 1]);
  try {
    const words = ['[memory]', `${4 * big} bytes in JavaScript`, 'Array buffer allocation failed', 'predictStream()'];
    await assertError(() => model.predict(rows, { ...quiet, batchSize: big }), 'internal', ...words);
    await assertError(() => model.predictOnBatch(rows), 'internal', ...words);
    await assertError(() => wide.getWeights(), 'internal', ...words);
    await assertError(async () => { for await (const batch of model.predictStream(rows, { ...quiet, batchSize: big })) assert.fail(batch.shape); }, 'internal', ...words);
    await assert.rejects(model.fit(x, y, { ...quiet, callbacks: [{ onEpochEnd: () => model.predictOnBatch(rows) }] }), /\[memory\]/);
    assert.equal((await model.predict(x, quiet)).size, 8);
  } finally {
    Uint8Array.prototype.slice = slice;
  }
  assert.equal((await model.predict(rows, { ...quiet, batchSize: big })).size, big);
  assert.equal(wide.getWeights()[1].size, big);
  await fit({});
});

test('errors take nothing from the stack of the module: 70,000 of them leave it working', () => {
  const layer = et.layers.dense({ units: 1 }), fails = [() => et.layers.dense({ units: 0 }), () => layer.apply(5)];
  for (const fail of fails)
    for (let i = 0; i < 70_000; ++i) {
      try {
        fail();
      } catch (error) {
        if (error.kind === 'internal' || error.kind === 'memory') throw error;
        continue;
      }
      assert.fail('no error');
    }
});

test('after all these errors the model is unchanged, and trains', async () => {
  const { history } = await fit({});
  assert.ok(Number.isFinite(history.loss[0]));
  assert.ok(weightsOf(model).every(Number.isFinite));
});

test('a model runs one loop at a time; another model may train concurrently', async () => {
  const other = twoDense();
  other.compile(mse());
  et.setYieldEvery(0);
  const first = fit({ epochs: 3, batchSize: 1 });
  const second = fit({}).then(() => assert.fail('two fits at once'), (error) => error);
  const third = other.fit(x, y, quiet);
  const error = await second;
  await assertError(() => { throw error; }, 'state', 'another fit()');
  await assertError(() => model.compile(mse()), 'state', 'while a loop runs');
  assert.equal((await model.predict(x, quiet)).size, 8, 'predict is welcome at any time');
  assert.equal((await first).history.loss.length, 3);
  await third;
  et.setYieldEvery(16);
  await fit({});
});

test('errors leak no memory', async () => {
  const fail = () => fit({ batchSize: NaN }).catch(() => {});
  for (let i = 0; i < 20; ++i) await fail();
  const before = et.memory().usedBytes;
  for (let i = 0; i < 500; ++i) await fail();
  assert.ok(et.memory().usedBytes - before < 4096, `${et.memory().usedBytes - before} bytes after 500 errors`);
});

test('lack of memory is an ordinary error, and memory stays usable after it', async () => {
  const huge = et.sequential([et.layers.dense({ units: 2 ** 30 })]);
  await assertError(() => huge.build([-1, 64]), 'state', 'no memory for "kernel" of shape [64, 1073741824]');
  await fit({});
});
