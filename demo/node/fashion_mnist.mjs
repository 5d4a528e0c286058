// Keras's first model on Fashion-MNIST. The README shows the part between the two marks.
// README
import * as et from 'etude-ml';

et.setRandomSeed(42);
const folder = '/usr/share/datasets/fashion-mnist';
const x = await et.data.readIdx(`${folder}/train-images-idx3-ubyte.gz`);
const y = await et.data.readIdx(`${folder}/train-labels-idx1-ubyte.gz`);

const model = et.sequential([
  et.layers.rescaling({ scale: 1 / 255 }),
  et.layers.flatten(),
  et.layers.dense({ units: 512, activation: 'relu' }),
  et.layers.dense({ units: 10, activation: 'softmax' }),
]);
model.compile({ optimizer: 'rmsprop', loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
const { history } = await model.fit(x, y, { batchSize: 128, epochs: 5 });
// README
// The rest measures the values in the table of ./dev demo.
const xTest = await et.data.readIdx(`${folder}/t10k-images-idx3-ubyte.gz`);
const yTest = await et.data.readIdx(`${folder}/t10k-labels-idx1-ubyte.gz`);
const test = await model.evaluate(xTest, yTest, { batchSize: 128, returnDict: true });
model.compile({ optimizer: 'rmsprop', loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });
const start = performance.now();
await model.fit(x, y, { batchSize: 128, verbose: 0 });
const seconds = (performance.now() - start) / 1000;
console.log(
  JSON.stringify({
    target: 'wasm',
    test_accuracy: Number(test.accuracy.toFixed(4)),
    final_loss: Number(history.loss.at(-1).toFixed(6)),
    samples_per_s: Math.round(x.shape[0] / seconds),
    peak_memory_mb: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
);
