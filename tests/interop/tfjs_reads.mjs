// TensorFlow.js reads the model.json that Étude saves; `./dev test interop` runs it after keras_reads.py.
//
//     node tfjs_reads.mjs FOLDER PACKAGES
//
// FOLDER has the models of the binary etude_saved_models, PACKAGES the folder node_modules with @tensorflow/tfjs. Each
// model.json must load, with the same weights bit by bit, and predict within 1e-5. Étude must refuse those models that
// have layers which TensorFlow.js lacks. Failures are listed; the status is 1 if there are any.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

/** What TensorFlow.js lacks in models. */
const LACKS = { words_reset_after: /GRU .*"reset_after"/, attention: /MultiHeadAttention/ };
const TOLERANCE = 1e-5;
const [folder, packages] = process.argv.slice(2);
const tf = createRequire(join(resolve(packages), 'index.js'))('@tensorflow/tfjs');
await tf.setBackend('cpu');
const failures = [];
let read = 0, weights = 0, largest = 0;

function handler(path) {
  const json = JSON.parse(readFileSync(path, 'utf8'));
  const groups = json.weightsManifest;
  const shards = groups.flatMap((group) => group.paths).map((name) => readFileSync(join(path, '..', name)));
  const weightData = new Uint8Array(Buffer.concat(shards)).buffer;
  return { load: async () => ({ modelTopology: json.modelTopology, weightSpecs: groups.flatMap((group) => group.weights), weightData }) };
}

function difference(found, expected, what) {
  if (found.shape.join() !== expected.shape.join()) throw Error(`${what}: shape [${found.shape}], expected [${expected.shape}]`);
  return found.dataSync().reduce((most, value, i) => Math.max(most, Math.abs(value - expected.values[i])), 0);
}

async function check(name) {
  const data = JSON.parse(readFileSync(join(folder, name, 'data.json'), 'utf8'));
  const model = await tf.loadLayersModel(handler(join(folder, name, 'tfjs', 'model.json')));
  // tfjs-layers lists the weights that are not trained last, Keras by layers: each must be there once.
  const found = model.getWeights();
  if (found.length !== data.weights.length) throw Error(`${found.length} weights, expected ${data.weights.length}`);
  const text = (shape, values) => `${shape}: ${[...values]}`;
  const expected = data.weights.map((each) => text(each.shape, Float32Array.from(each.values))).sort();
  found.map((each) => text(each.shape, each.dataSync())).sort().forEach((each, i) => {
    if (each !== expected[i]) throw Error('a weight has other bits');
  });
  weights += found.length;
  const x = data.batches[0].x.map(({ values, shape, dtype }) => tf.tensor(values, shape, dtype));
  const outputs = [model.predict(x.length > 1 ? x : x[0])].flat();
  if (outputs.length !== data.predictions.length) throw Error(`${outputs.length} outputs`);
  outputs.forEach((output, i) => {
    const error = difference(output, data.predictions[i], `output ${i}`);
    if (!(error <= TOLERANCE)) throw Error(`predictions differ by ${error}`);
    largest = Math.max(largest, error);
  });
  read++;
}

const lines = readFileSync(join(folder, 'models.txt'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
for (const { name, refused } of lines) {
  try {
    const reason = refused['TensorFlow.js'];
    if (LACKS[name] && !LACKS[name].test(reason ?? '')) throw Error(`expected to be refused for ${LACKS[name]}: ${reason}`);
    if (!LACKS[name] && reason) throw Error(`Étude refuses it: ${reason}`);
    if (!reason) await check(name);
  } catch (error) {
    failures.push(`${name}: ${error.message}`);
  }
}
for (const failure of failures) console.log(failure);
console.log(`TensorFlow.js ${tf.version.tfjs} reads ${read} models of Étude: ${weights} weights equal, predictions within ` +
  `${largest.toExponential(1)}; ${Object.keys(LACKS).length} refused as expected; ${failures.length} failures`);
process.exit(failures.length || !read ? 1 : 0);
