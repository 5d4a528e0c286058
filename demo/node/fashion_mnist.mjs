// Trains Keras's first model on Fashion-MNIST. The first lines are the README's.
import * as et from 'etude';

const folder = process.env.ETUDE_FASHION_MNIST ?? '/usr/share/datasets/fashion-mnist';
const read = (name) => et.data.readIdx(`${folder}/${name}-ubyte.gz`);
const [x, y] = [await read('train-images-idx3'), await read('train-labels-idx1')];
const [xTest, yTest] = [await read('t10k-images-idx3'), await read('t10k-labels-idx1')];
et.setRandomSeed(42);

const model = et.sequential([
  et.layers.rescaling({ scale: 1 / 255 }),
  et.layers.flatten(),
  et.layers.dense({ units: 512, activation: 'relu' }),
  et.layers.dense({ units: 10, activation: 'softmax' }),
]);
model.compile({ optimizer: 'rmsprop', loss: 'sparse_categorical_crossentropy', metrics: ['accuracy'] });

const start = performance.now();
const { history } = await model.fit(x, y, { batchSize: 128, epochs: 5 });
const seconds = (performance.now() - start) / 1000;
const test = await model.evaluate(xTest, yTest, { batchSize: 128, returnDict: true });

console.log(
  JSON.stringify({
    target: 'wasm',
    test_accuracy: Number(test.accuracy.toFixed(4)),
    final_loss: Number(history.loss.at(-1).toFixed(6)),
    samples_per_s: Math.round((5 * x.shape[0]) / seconds),
    peak_memory_mb: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
);
