// Layers of strings: they are called on texts, before a model. tests/golden/text.json has results of Keras.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError } from './support.mjs';

const golden = JSON.parse(readFileSync(join(process.env.ETUDE_ROOT, 'tests/golden/text.json'), 'utf8'));
const camelCase = (name) => name.replace(/_+(\w)/g, (_, letter) => letter.toUpperCase());
const factoryOf = (className) => className[0].toLowerCase() + className.slice(1);

/** The options of a config; those that are null in Keras keep their defaults, except where null is a choice. */
const optionsOf = (config) =>
  Object.fromEntries(Object.entries(config).filter(([name, value]) => value !== null || ['standardize', 'split', 'label_mode'].includes(name)).map(([name, value]) => [camelCase(name), value]));

/** Nested arrays of this shape. */
function nested(flat, [extent, ...rest]) {
  if (extent === undefined) return flat[0];
  const size = flat.length / extent;
  return Array.from({ length: extent }, (_, i) => nested(flat.slice(i * size, (i + 1) * size), rest));
}
const inputOf = ({ shape, texts, dtype, numbers }) =>
  texts ? nested(texts, shape) : dtype === 'float32' ? et.tensor(Float32Array.from(numbers), shape) : nested(numbers, shape);

test('et.utils.featureSpace encodes columns as Keras does, and adapts to batches', async () => {
  const { rows, cases } = JSON.parse(readFileSync(join(process.env.ETUDE_ROOT, 'tests/golden/feature_space.json'), 'utf8'));
  for (const { features, config, query, y } of cases) {
    const space = et.utils.featureSpace(
      Object.fromEntries(Object.entries(features).map(([name, given]) => [name, Object.keys(given).length === 1 ? given.type : optionsOf(given)])),
      { ...optionsOf(config), crosses: (config.crosses ?? []).map((cross) => (Array.isArray(cross) ? cross : optionsOf(cross))) },
    );
    await space.adapt(rows);
    const result = space.call(query), compare = (tensor, { shape, numbers }) => {
      assert.deepEqual(tensor.shape, shape);
      assertClose([...tensor.data], numbers, 1e-5);
    };
    const again = et.utils.featureSpaceFromJson(et.utils.featureSpaceToJson(space)).call(query);
    const data = (rows) => (rows instanceof et.Tensor ? [...rows.data] : Object.values(rows).map(({ data }) => [...data]));
    assert.deepEqual(data(again), data(result));
    if (config.output_mode !== 'dict') compare(result, y);
    else for (const name of Object.keys(y)) compare(result[name], y[name]);
  }
  const space = et.utils.featureSpace({ size: 'float_normalized', word: 'string_categorical' });
  async function* batches() {
    yield { size: [1, 2], word: ['a', 'b'] };
    yield { size: [3], word: ['a'] };
  }
  await space.adapt(batches());
  assert.deepEqual(space.call({ size: [2], word: ['b'] }).array(), [[0, 0, 0, 1]]);
  await assertError(() => space.call({ size: [2] }), 'value', 'the column "word"');
  await assertError(() => space.getEncodedFeatures(), 'value', 'on the host');
  const numbers = et.utils.featureSpace({ size: 'float_normalized', rooms: { type: 'integer_categorical', maxTokens: 3 } });
  await numbers.adapt({ size: [1, 3], rooms: [2, 2] });
  const { rooms: roomsInput, size } = numbers.getInputs();
  assert.equal(numbers.preprocessors.rooms.name, 'rooms_preprocessor');
  const model = et.model({ inputs: [roomsInput, size], outputs: [numbers.getEncodedFeatures()] });
  assert.deepEqual((await model.predict([et.tensor(Int32Array.of(2), [1, 1]), et.tensor([[3]])], { verbose: 0 })).array(), [[0, 1, 1]]);
  await assertError(() => et.utils.featureSpace({ size: 'floats' }), 'value', 'the type "floats"');
  for (const features of [null, 5, [], new Map([['size', 'float_normalized']])]) await assertError(() => et.utils.featureSpace(features), 'value', 'expected an object - write {name: value}');
  assert.deepEqual(Object.keys(et.utils.featureSpace(Object.assign(Object.create(null), { size: 'float_normalized' })).preprocessors), ['size']);
  await assertError(() => et.utils.featureSpace({ size: 'float' }, { crossDim: 3 }), 'value', 'unknown option "crossDim"');
});

test('layers of strings compute the numbers and vocabularies of Keras', async () => {
  for (const { class_name: className, config, adapts, x, shape, y, vocabulary } of golden.cases) {
    if (x.some(({ dtype }) => dtype === 'bool')) continue; // et.tensor has no nested arrays of booleans
    const layer = et.layers[factoryOf(className)](optionsOf(config));
    if (adapts) assert.equal(await layer.adapt(inputOf(adapts)), undefined);
    const inputs = x.map(inputOf), result = layer.call(className === 'HashedCrossing' ? inputs : inputs[0]);
    const where = `${className} ${JSON.stringify(config)}`;
    assert.deepEqual(result.shape, shape, where);
    assert.equal(result.dtype, (config.output_mode ?? 'int') === 'int' ? 'int32' : 'float32', where);
    assertClose([...result.data], y, 2e-6);
    if (!vocabulary) continue;
    assert.deepEqual(layer.getVocabulary(), vocabulary, where);
    assert.equal(layer.vocabularySize(), vocabulary.length, where);
  }
});

test('a vocabulary is that of an array, of an iterator of batches, or one that is set', async () => {
  const batches = function* () {
    yield ['a b', 'b'];
    yield 'c c c';
  };
  const later = async function* () {
    yield* batches();
  };
  for (const data of [['a b', 'b', 'c c c'], batches(), later()]) {
    const layer = et.layers.textVectorization();
    await layer.adapt(data);
    assert.deepEqual(layer.getVocabulary(false), ['c', 'b', 'a']);
    assert.deepEqual(layer.call(['a z', 'c']).array(), [[4, 1], [2, 0]]);
    assert.deepEqual(layer.stringsOf(layer.call(['a z', 'c'])), [['a', '[UNK]'], ['c', '']]);
    layer.setVocabulary(['d']);
    assert.deepEqual(layer.call(['d', 'a']).array(), [[2], [1]]);
  }
  const weighted = et.layers.stringLookup({ outputMode: 'tf_idf' });
  weighted.setVocabulary(['e'], [0.5]);
  assert.deepEqual(weighted.call([['e', 'e', 'g']]).array(), [[0.5, 1]]);
});

test('strings of indices are those of Keras', () => {
  for (const { config, x, y } of golden.inverted) {
    const indices = inputOf(x);
    assert.deepEqual(et.layers.stringLookup(optionsOf(config)).stringsOf(indices).flat(), y);
    assert.deepEqual(et.layers.stringLookup(optionsOf(config)).stringsOf(et.tensor(Int32Array.from(x.numbers), x.shape)), nested(y, x.shape));
  }
});

test('functions of a user standardize and split texts, and their errors reach the caller', () => {
  const layer = et.layers.textVectorization({ standardize: (text) => text.replace('Ä', 'a'), split: (text) => text.split('|'), vocabulary: ['a', 'b c'] });
  assert.deepEqual(layer.call(['Ä|b c', 'x']).array(), [[2, 3], [1, 0]]);
  const error = new Error('no');
  const failing = et.layers.textVectorization({ split: () => { throw error; }, vocabulary: ['a'] });
  assert.throws(() => failing.call(['a']), (thrown) => thrown === error);
});

test('a model learns from texts, which a generator may vectorize batch by batch', async () => {
  const animals = ['cat', 'dog', 'bird', 'fish', 'horse'], foods = ['bread', 'soup', 'rice', 'cake', 'apple'];
  const texts = Array.from({ length: 20 }, (_, i) => `${i % 4 < 2 ? 'The' : 'I saw a'} ${(i % 2 ? foods : animals)[Math.floor(i / 4)]}${i % 3 ? ', there.' : '!'}`);
  const labels = texts.map((_, i) => [i % 2]);
  const vectorize = et.layers.textVectorization({ outputSequenceLength: 6 });
  await vectorize.adapt(texts);
  et.setRandomSeed(1);
  const model = et.sequential([et.layers.embedding({ inputDim: vectorize.vocabularySize(), outputDim: 8 }), et.layers.globalAveragePooling1d(), et.layers.dense({ units: 1, activation: 'sigmoid' })]);
  model.compile({ optimizer: et.optimizers.adam({ learningRate: 0.1 }), loss: 'binary_crossentropy', metrics: ['accuracy'] });
  function* batches() {
    for (let row = 0; row < 20; row += 5) yield [vectorize.call(texts.slice(row, row + 5)), labels.slice(row, row + 5)];
  }
  await model.fit(batches, { epochs: 10, verbose: 0 });
  const { history } = await model.fit(vectorize.call(texts), labels, { epochs: 20, verbose: 0 });
  assert.equal(history.accuracy.at(-1), 1);
  const [animal, food] = (await model.predict(vectorize.call(['I saw a horse', 'the cake']), { verbose: 0 })).data;
  assert.ok(animal < 0.5 && food > 0.5);
});

test('a dataset hashes integers in its functions', async () => {
  const hashing = et.layers.hashing({ numBins: 50 }), numbers = Int32Array.of(0, 1, -3);
  const elements = await et.data.toArray(et.data.fromTensorSlices({ x: numbers }).map(({ x }) => hashing.call(x)));
  assert.deepEqual(elements.map(({ x }) => x.item()), [...hashing.call(numbers).data]);
});

test('a folder of texts is read with its labels, as by Keras', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'etude-texts-'));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(golden.tree)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  for (const { options, texts, class_names: classNames, shape, labels } of golden.directories) {
    const read = et.utils.textDatasetFromDirectory(folder, { shuffle: false, ...optionsOf(options) });
    assert.deepEqual([read.texts, read.classNames], [texts, classNames ?? []]);
    assert.deepEqual(read.labels && [read.labels.shape, [...read.labels.data]], labels ? [shape, labels] : null);
  }
  await assertError(() => et.utils.textDatasetFromDirectory(folder, { labelMode: 'binary' }), 'value', 'for 3 classes');
  await assertError(() => et.utils.textDatasetFromDirectory(join(folder, 'nowhere')), 'io');
});

test('wrong calls of layers of strings are errors that say what to do', async () => {
  const words = et.layers.textVectorization({ vocabulary: ['a'] });
  const before = ['value', 'call it on them before the model'];
  await assertError(() => et.sequential([words]).build([-1, 3]), ...before);
  await assertError(() => words.apply(et.input({ shape: [3] })), ...before);
  await assertError(() => words.call(et.input({ shape: [3] })), ...before);
  await assertError(() => words.call([1, 2]), 'value', 'called on numbers');
  await assertError(() => words.call([['a'], ['b', 'c']]), 'shape', 'arrays of different lengths');
  await assertError(() => words.call(['a', ['b']]), 'shape');
  await assertError(() => words.call(['\ud800']), 'value');
  await assertError(() => words.adapt(['a']), 'state', 'vocabulary is set');
  await assertError(() => et.layers.textVectorization().adapt(3), 'value', 'an iterator of batches');
  await assertError(() => et.layers.textVectorization().call(['a']), 'state', 'adapt()');
  await assertError(() => et.layers.textVectorization({ outputMode: 'count', outputSequenceLength: 3 }), 'value', 'outputSequenceLength with outputMode');
  await assertError(() => et.layers.stringLookup({ vocabulary: ['a'], invert: true }).call(['a']), 'value', 'stringsOf()');
  await assertError(() => et.layers.hashedCrossing({ numBins: 3 }).call([['a']]), 'value', 'two or more');
  await assertError(() => et.layers.hashing({ numBins: 3 }).call([2 ** 31]), 'data', 'the range of int32');
});
