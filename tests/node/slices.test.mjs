// Files and Blobs are read by slices: their loads hold one weight at a time.
import assert from 'node:assert/strict';
import { openAsBlob, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, collect } from './support.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-slices-'));
after(() => rmSync(folder, { recursive: true }));

/** A model of twelve weights of 1 MiB. */
const count = 12, units = 512, tensor = 4 * units ** 2;
const large = (kernelInitializer) => {
  const layers = Array.from({ length: count }, () => et.layers.dense({ units, useBias: false, kernelInitializer }));
  const model = et.sequential([et.input({ shape: [units] }), ...layers]);
  return model;
};
const model = large(et.initializers.randomUniform({ seed: 1 }));
const same = (a, b) => assert.ok(a.getWeights().every(({ data }, i) => Buffer.compare(Buffer.from(data.buffer, data.byteOffset, data.byteLength), Buffer.from(b.getWeights()[i].data.slice().buffer)) === 0), 'the weights differ');

/** A File that counts the bytes of its slices that are held: those of buffers that were not collected. */
class Watched extends File {
  most = 0;
  largest = 0;
  slices = 0;
  #buffers = [];

  slice(begin, end) {
    const part = super.slice(begin, end);
    ++this.slices;
    this.largest = Math.max(this.largest, part.size);
    return {
      arrayBuffer: async () => {
        const buffer = await part.arrayBuffer();
        this.#buffers.push(new WeakRef(buffer));
        await collect();
        this.#buffers = this.#buffers.filter((each) => each.deref());
        this.most = Math.max(this.most, this.#buffers.reduce((sum, each) => sum + (each.deref()?.byteLength ?? 0), 0));
        return buffer;
      },
    };
  }
  arrayBuffer() {
    throw new Error('all of the file was read at once');
  }
}

for (const name of ['m.keras', 'm.weights.h5', 'm.safetensors', 'm.npz'])
  test(`${name} is loaded with its largest weight in memory, beside the model and a few blocks`, async () => {
    const whole = name.endsWith('.keras');
    const file = new Watched([await model.toBytes(name.slice(2))], name);
    assert.ok(file.size > count * tensor);
    const other = large('zeros');
    await other.loadWeights(file);
    same(other, model);
    if (whole) same(await et.loadModel(file), model);
    const blocks = (1 << 20) + 4 * 65536; // those that are kept, and those of a step
    assert.ok(file.slices > 2 * count && file.largest <= tensor + 65536, `${file.slices} slices of at most ${file.largest} bytes`);
    assert.ok(file.most <= tensor + 65536 + blocks, `${file.most} bytes were held of ${file.size}`);
  });

test('a model.json of TensorFlow.js with its files is loaded slice by slice', async () => {
  model.save(join(folder, 'tfjs/model.json'));
  const names = ['model.json', ...Array.from({ length: 3 }, (_, i) => `group1-shard${i + 1}of3.bin`)];
  const files = names.map((name) => new Watched([readFileSync(join(folder, 'tfjs', name))], name));
  same(await et.loadModel(files), model);
  for (const file of files.slice(1)) assert.ok(file.largest <= tensor + 65536 && file.slices >= 4, `${file.slices} slices of at most ${file.largest} bytes`);
});

test('files of Keras 2, and compressed ones, are loaded from Files as from paths', async () => {
  const golden = join(process.env.ETUDE_ROOT, 'tests/golden/keras');
  for (const name of ['adam.keras', 'nested.keras', 'sequential2.h5', 'functional2.h5']) {
    const path = join(golden, name);
    const [ofFile, ofPath] = [await et.loadModel(await openAsBlob(path)), et.loadModel(path)];
    assert.deepEqual(ofFile.getWeights(), ofPath.getWeights());
    assert.equal(ofFile.compiled, ofPath.compiled);
    if (ofPath.compiled) assert.equal(ofFile.optimizer.iterations, ofPath.optimizer.iterations);
  }
});

test('several loads at once, and calls between their slices, do not disturb each other', async () => {
  const bytes = await model.toBytes('keras'), other = large('zeros');
  const loads = [et.loadModel(new File([bytes], 'a.keras')), et.loadModel(new File([bytes], 'b.keras')), other.loadWeights(new File([bytes], 'c.keras'))];
  other.predictOnBatch(et.tensor(new Float32Array(units), [1, units]));
  const [first, second] = await Promise.all(loads);
  for (const each of [first, second, other]) same(each, model);
});

test('custom classes of a load are found while it waits for slices', async () => {
  class Twice extends et.Layer {
    call(x) {
      return et.ops.add(x, x);
    }
  }
  const custom = et.sequential([et.input({ shape: [2] }), new Twice(), et.layers.dense({ units: 1 })]);
  et.registerClass(Twice, { package: 'slices' });
  const file = new File([await custom.toBytes()], 'custom.keras');
  class Thrice extends et.Layer {
    call(x) {
      return et.ops.multiply(x, 3);
    }
  }
  const [given, known] = await Promise.all([et.loadModel(file, { customObjects: { 'slices>Twice': Thrice } }), et.loadModel(file)]);
  const x = et.tensor([[1, 2]]), [kernel] = custom.getWeights();
  const sum = kernel.data[0] + 2 * kernel.data[1];
  assert.ok(Math.abs(given.predictOnBatch(x).data[0] - 3 * sum) < 1e-5);
  assert.ok(Math.abs(known.predictOnBatch(x).data[0] - 2 * sum) < 1e-5);
});

test('onProgress reports how much of the weights was read, or written, up to 1', async () => {
  const fractions = [];
  const onProgress = (fraction) => void fractions.push(fraction);
  const checked = (least) => {
    const told = fractions.splice(0);
    assert.ok(told.length >= least && told[0] > 0 && told[0] < 1, `${told}`);
    assert.deepEqual(told, [...told].sort((a, b) => a - b));
    assert.equal(told.at(-1), 1);
  };
  for (const [format, save] of [['keras', 'save'], ['safetensors', 'saveWeights'], ['npz', 'saveWeights'], ['weights.h5', 'saveWeights']]) {
    const bytes = await model.toBytes(format, { onProgress });
    checked(count);
    const path = join(folder, `progress.${format}`);
    model[save](path, { onProgress });
    checked(count);
    await model.loadWeights(new Blob([bytes]), { onProgress });
    checked(2 * count);
    model.loadWeights(path, { onProgress });
    checked(2 * count);
  }
  et.loadModel(join(folder, 'progress.keras'), { onProgress });
  checked(count);
  await model.save({ save: () => {} }, { onProgress });
  checked(count);
  model.save(join(folder, 'progress'), { onProgress });
  checked(count);
  await assertError(() => model.save(join(folder, 'p'), { onProgress: 3 }), 'value', '3 as onProgress');
  await assertError(() => model.toBytes('keras', { onProgress: 'x' }), 'value', '"x" as onProgress');
  const stop = new Error('stop');
  await assert.rejects(et.loadModel(new Blob([await model.toBytes()]), { onProgress: () => { throw stop; } }), stop);
});

test('a file that changes while it is loaded, and damaged ones, are Errors, and set no weights', async () => {
  const path = join(folder, 'changing.safetensors'), other = large('zeros'), zeros = large('zeros');
  model.saveWeights(path);
  const file = await openAsBlob(path);
  truncateSync(path, 3 * tensor);
  await assertError(() => other.loadWeights(file), 'io', 'cannot be read');
  const bytes = await model.toBytes('keras');
  bytes[bytes.length >> 1] ^= 1;
  await assertError(() => other.loadWeights(new File([bytes], 'm.keras')), 'data', 'a file with another checksum');
  writeFileSync(path, '');
  same(other, zeros);
});

test('writeTo writes a file piece by piece where it can be opened synchronously, as in a worker', async () => {
  /** A FileSystemSyncAccessHandle in memory. It writes at most 100,000 bytes at once. */
  class SyncFile {
    bytes = new Uint8Array(2 * count * tensor);
    size = 5;
    largest = 0;
    closed = false;
    write(bytes, { at }) {
      const some = bytes.subarray(0, 100_000);
      this.bytes.set(some, at);
      this.size = Math.max(this.size, at + some.length);
      this.largest = Math.max(this.largest, bytes.length);
      return some.length;
    }
    truncate(size) {
      this.size = size;
    }
    flush() {}
    close() {
      this.closed = true;
    }
  }
  for (const format of ['keras', 'weights.h5', 'safetensors', 'npz']) {
    const file = new SyncFile(), opened = new SyncFile(), stored = [];
    const bytes = await model.toBytes(format);
    await model.writeTo(file, format);
    await model.writeTo({ createSyncAccessHandle: async () => opened }, format);
    await model.writeTo({ createWritable: async () => ({ write: async (given) => void stored.push(given), close: async () => void stored.push('closed') }) }, format);
    for (const each of [file, opened]) assert.equal(Buffer.compare(each.bytes.subarray(0, each.size), bytes), 0, format);
    assert.ok(file.largest <= tensor + 65536, `${file.largest} bytes at once`);
    assert.deepEqual([file.closed, opened.closed, stored.length, stored[1]], [false, true, 2, 'closed']);
    assert.equal(Buffer.compare(stored[0], bytes), 0);
  }
  // In a worker, a handle of showSaveFilePicker refuses to be opened synchronously.
  const refusal = new DOMException('not a file of the origin private file system', 'InvalidStateError'), stored = [];
  const refuses = { createSyncAccessHandle: () => Promise.reject(refusal) };
  const ofUser = { ...refuses, createWritable: async () => ({ write: async (given) => void stored.push(given), close: async () => void stored.push('closed') }) };
  await model.writeTo(ofUser, 'safetensors');
  assert.equal(Buffer.compare(stored[0], await model.toBytes('safetensors')), 0);
  assert.deepEqual(stored.slice(1), ['closed']);
  await assert.rejects(model.writeTo(refuses), refusal);
  const full = Object.assign(new SyncFile(), { write: () => 0 });
  await assertError(() => model.writeTo(full), 'io', 'the browser cannot store more');
  const aborted = [], broken = { write: () => Promise.reject(refusal), abort: async () => void aborted.push('aborted') };
  await assert.rejects(model.writeTo({ createWritable: async () => broken }, 'npz'), refusal);
  assert.deepEqual(aborted, ['aborted']);
  await assertError(() => model.writeTo('file'), 'value', '"file" - expected a FileSystemFileHandle');
  await assertError(() => model.writeTo(full, 'zip'), 'value', '"zip" as format');
});
