// Data: the same numbers as arrays, a Dataset, a sequence, a generator, rows that are read on demand and a CSV file; and
// predictions batch by batch.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as et from 'etude-ml';
import { report, samples } from './samples.mjs';

const [x, y] = samples(1000);
const folder = mkdtempSync(join(tmpdir(), 'etude-guide-data-'));

function twoLayers() {
  et.setRandomSeed(6);
  const model = et.sequential([et.layers.dense({ units: 32, activation: 'relu' }), et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'adam', loss: 'mse' });
  return model;
}

const ofArrays = twoLayers();
report('arrays', await ofArrays.fit(x, y, { batchSize: 50, epochs: 2, verbose: 2, validationSplit: 0.2 }));

const rows = et.data.fromTensorSlices({ x, y });
report('dataset', await twoLayers().fit(rows.shuffle(1000, { seed: 1 }).batch(50).prefetch(2), { epochs: 2, verbose: 2 }));

// Batches by index.
const sequence = {
  length: x.shape[0] / 50,
  getItem: (index) => [x.slice(50 * index, 50 * index + 50), y.slice(50 * index, 50 * index + 50)],
};
report('sequence', await twoLayers().fit(sequence, { epochs: 2, verbose: 2 }));

// Batches one after another, once. It may be an async function*.
function* generate() {
  for (let row = 0; row < x.shape[0]; row += 50) yield [x.slice(row, row + 50), y.slice(row, row + 50)];
}
report('generator', await twoLayers().fit(generate(), { verbose: 2 }));

// Rows that are read on demand from any source; `slice` may return a promise.
const lazy = { shape: x.shape, dtype: 'float32', slice: (first, last) => x.slice(first, last) };
report('row by row', await twoLayers().fit(lazy, y, { batchSize: 50, epochs: 2, verbose: 2 }));

writeFileSync(join(folder, 'houses.csv'), 'rooms,area,price\n2,0.5,0.7\n3,0.8,1.1\n4,1.1,1.6\n5,1.5,2.2\n');
report('csv', await twoLayers().fit(et.data.csv(join(folder, 'houses.csv'), { label: 'price' }).batch(2), { verbose: 2 }));

for await (const batch of ofArrays.predictStream(x, { batchSize: 256, verbose: 0 }))
  console.log(`predictions: rows=${batch.shape[0]} first=${batch.data[0].toFixed(5)}`);
await ofArrays.predictStream(x, { batchSize: 256, verbose: 0 }).writeNpy(join(folder, 'predictions.npy'));
rmSync(folder, { recursive: true });
