// Makes tfjs_models.json and the folders in tfjs/: models that TensorFlow.js saved, and what they compute.
//
// Run by hand, never by CI: npm install @tensorflow/tfjs@4.22.0 in some FOLDER, then node make_tfjs_models.mjs FOLDER.
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const tf = createRequire(join(resolve(process.argv[2]), 'package.json'))('@tensorflow/tfjs');
await tf.setBackend('cpu');
const golden = dirname(fileURLToPath(import.meta.url));
const { layers } = tf;
const cases = [];
let seed = 7;

/** Numbers of two decimals, the same in every run. */
function numbers(shape, offset = 0) {
  const count = shape.reduce((a, b) => a * b, 1);
  const values = Array.from({ length: count }, () => {
    seed = (seed * 48271) % 2147483647;
    return Math.round((seed / 2147483647 - 0.5) * 200) / 100 + offset;
  });
  return tf.tensor(values, shape);
}

async function add(name, model, x) {
  model.setWeights(model.getWeights().map((weight, i) => numbers(weight.shape, model.weights[i].name.includes('variance') ? 1.5 : 0)));
  mkdirSync(join(golden, 'tfjs', name), { recursive: true });
  await model.save({
    save: async (artifacts) => {
      const { weightData, weightSpecs, ...topology } = artifacts;
      const bytes = weightData instanceof ArrayBuffer ? weightData : weightData[0];
      writeFileSync(join(golden, 'tfjs', name, 'weights.bin'), new Uint8Array(bytes));
      const manifest = [{ paths: ['weights.bin'], weights: weightSpecs }];
      writeFileSync(join(golden, 'tfjs', name, 'model.json'), JSON.stringify({ ...topology, weightsManifest: manifest }));
      return { modelArtifactsInfo: { dateSaved: new Date(0), modelTopologyType: 'JSON' } };
    },
  });
  const outputs = [model.predict(x.length > 1 ? x : x[0])].flat();
  const result = { name, file: `tfjs/${name}/model.json`, x: x.map((each) => each.arraySync()), y: [] };
  cases.push({ ...result, outputs: outputs.map((each) => [...each.dataSync()].map((value) => Number(value.toPrecision(8)))) });
}

await add('dense', tf.sequential({ layers: [
  layers.dense({ units: 4, activation: 'tanh', inputShape: [3], kernelRegularizer: 'l1l2' }), layers.batchNormalization(), layers.prelu(),
  layers.dense({ units: 3, kernelConstraint: 'maxNorm' }), layers.leakyReLU({ alpha: 0.2 }), layers.dropout({ rate: 0.3 }), layers.dense({ units: 2, activation: 'softmax' })] }),
  [numbers([4, 3])]);
await add('images', tf.sequential({ layers: [
  layers.conv2d({ filters: 3, kernelSize: 3, activation: 'relu', padding: 'same', inputShape: [6, 6, 2] }), layers.maxPooling2d({}), layers.separableConv2d({ filters: 3, kernelSize: 2 }),
  layers.depthwiseConv2d({ kernelSize: 1, depthMultiplier: 2 }), layers.conv2dTranspose({ filters: 2, kernelSize: 2, strides: 2 }), layers.upSampling2d({}), layers.flatten(),
  layers.dense({ units: 2 })] }), [numbers([2, 6, 6, 2])]);
await add('words', tf.sequential({ layers: [
  layers.embedding({ inputDim: 9, outputDim: 4, inputLength: 5, maskZero: true }), layers.bidirectional({ layer: layers.lstm({ units: 3, recurrentActivation: 'sigmoid', returnSequences: true }), mergeMode: 'concat' }),
  layers.gru({ units: 3, recurrentActivation: 'sigmoid', resetAfter: false, returnSequences: true }), layers.simpleRNN({ units: 2 })] }), [tf.tensor2d([[1, 2, 3, 4, 5], [6, 8, 7, 1, 2]], undefined, 'int32')]);
const a = tf.input({ shape: [4], name: 'a' }), b = tf.input({ shape: [5, 4], name: 'b' });
const shared = layers.dense({ units: 4, activation: 'elu', name: 'shared' });
const steps = layers.timeDistributed({ layer: layers.dense({ units: 4, name: 'step' }), name: 'steps' }).apply(b);
const pooled = layers.globalAveragePooling1d({ name: 'pooled' }).apply(layers.conv1d({ filters: 4, kernelSize: 2, name: 'conv' }).apply(steps));
const joined = layers.concatenate({ name: 'joined' }).apply([shared.apply(a), shared.apply(pooled), layers.multiply({ name: 'product' }).apply([a, pooled])]);
await add('shared', tf.model({ inputs: [a, b], outputs: [layers.dense({ units: 2, name: 'one' }).apply(joined), layers.layerNormalization({ name: 'two' }).apply(pooled)] }),
  [numbers([3, 4]), numbers([3, 5, 4])]);
const inner = tf.sequential({ name: 'inner', layers: [layers.dense({ units: 3, inputShape: [4], name: 'inner_dense' }), layers.batchNormalization({ name: 'inner_norm' })] });
const x = tf.input({ shape: [4], name: 'x' });
await add('nested', tf.model({ inputs: x, outputs: layers.add({ name: 'sum' }).apply([inner.apply(x), layers.dense({ units: 3, useBias: false, name: 'outer' }).apply(x)]) }), [numbers([4, 4])]);
await add('cells', tf.sequential({ layers: [
  layers.rnn({ cell: layers.stackedRNNCells({ cells: [layers.lstmCell({ units: 3, recurrentActivation: 'sigmoid' }), layers.gruCell({ units: 2, recurrentActivation: 'sigmoid', resetAfter: false })] }), inputShape: [5, 4] }), layers.dense({ units: 2 })] }),
  [numbers([2, 5, 4])]);
await add('movies', tf.sequential({ layers: [layers.convLstm2d({ filters: 2, recurrentActivation: 'sigmoid', kernelSize: 2, inputShape: [2, 4, 4, 1] }), layers.globalMaxPooling2d({})] }), [numbers([2, 2, 4, 4, 1])]);
// Their default gates, and the activation itself, are hard_sigmoid.
await add('gates', tf.sequential({ layers: [
  layers.lstm({ units: 3, returnSequences: true, inputShape: [4, 2] }), layers.gru({ units: 2 }), layers.dense({ units: 3, activation: 'hardSigmoid' }),
  layers.activation({ activation: 'hardSigmoid' })] }), [numbers([3, 4, 2], 1.5)]);

const origin = { '@tensorflow/tfjs': tf.version.tfjs, script: 'tests/golden/make_tfjs_models.mjs' };
const models = cases.map((each) => JSON.stringify(each)).join(',\n');
writeFileSync(join(golden, 'tfjs_models.json'), `${JSON.stringify({ origin }).slice(0, -1)}, "models": [\n${models}\n]}\n`);
