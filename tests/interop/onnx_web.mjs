// ONNX Runtime Web computes what Étude does; `./dev test interop` runs it after keras_reads.py.
//
//     node onnx_web.mjs FOLDER PACKAGES
//
// FOLDER has the models of the binary etude_saved_models, PACKAGES the folder node_modules with onnxruntime-web, whose
// build for WebAssembly runs each model.onnx: the outputs must be within 1e-5. Failures are listed; the status is 1 if
// there are any.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

const TOLERANCE = 1e-5;
const [folder, packages] = process.argv.slice(2);
const require = createRequire(join(resolve(packages), 'index.js'));
const ort = require('onnxruntime-web');
ort.env.wasm.numThreads = 1;
ort.env.logLevel = 'error';
const failures = [];
let run = 0, largest = 0;

function tensor({ dtype, shape, values }) {
  return new ort.Tensor(dtype, dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values), shape);
}

async function check(name) {
  const data = JSON.parse(readFileSync(join(folder, name, 'data.json'), 'utf8'));
  const session = await ort.InferenceSession.create(new Uint8Array(readFileSync(join(folder, name, 'model.onnx'))));
  const feeds = Object.fromEntries(session.inputNames.map((input, i) => [input, tensor(data.batches[0].x[i])]));
  const results = await session.run(feeds);
  if (session.outputNames.length !== data.predictions.length) throw Error(`outputs ${session.outputNames}`);
  session.outputNames.forEach((output, i) => {
    const { dims, data: found } = results[output], expected = data.predictions[i];
    if (dims.join() !== expected.shape.join()) throw Error(`${output}: shape [${dims}], expected [${expected.shape}]`);
    const error = found.reduce((most, value, k) => Math.max(most, Math.abs(value - expected.values[k])), 0);
    if (!(error <= TOLERANCE)) throw Error(`${output} differs by ${error}`);
    largest = Math.max(largest, error);
  });
  await session.release();
  run++;
}

const lines = readFileSync(join(folder, 'models.txt'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
for (const { name, refused } of lines) {
  try {
    if (refused.ONNX) throw Error(`Étude refuses it: ${refused.ONNX}`);
    await check(name);
  } catch (error) {
    failures.push(`${name}: ${error.message}`);
  }
}
for (const failure of failures) console.log(failure);
const { version } = JSON.parse(readFileSync(join(resolve(packages), 'onnxruntime-web', 'package.json'), 'utf8'));
console.log(`ONNX Runtime Web ${version} runs ${run} models of Étude: outputs within ${largest.toExponential(1)}; ${failures.length} failures`);
process.exit(failures.length || !run ? 1 : 0);
