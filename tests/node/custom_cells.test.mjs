// Cells of classes that extend et.RnnCell.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertClose, assertError, collect, mse, waves, weightsOf } from './support.mjs';

const { ops } = et;
const units = 3;
const x = waves([4, 5, 2]);
/** Samples of 2 to 5 steps. */
const padded = et.tensor(x.array().map((row, i) => row.map((step, t) => (t > i + 1 ? [0, 0] : step))));
const y = waves([4, 1], 2);
const quiet = { verbose: 0, shuffle: false };

class Minimal extends et.RnnCell {
  stateSize = units;
  build(inputShape) {
    this.inputShape = inputShape;
    this.kernel = this.addWeight({ name: 'kernel', shape: [inputShape.at(-1), units] });
    this.recurrentKernel = this.addWeight({ name: 'recurrent_kernel', shape: [units, units] });
    this.bias = this.addWeight({ name: 'bias', shape: [units], initializer: 'zeros' });
  }
  call(x, [state]) {
    const sums = ops.add(ops.add(ops.matmul(x, this.kernel.read()), this.bias.read()), ops.matmul(state, this.recurrentKernel.read()));
    const output = ops.tanh(sums);
    return [output, [output]];
  }
  copy() {
    return new Minimal();
  }
}
/** An LSTM: two states. */
class Gated extends et.RnnCell {
  constructor(options) {
    super(options);
    this.stateSize = [units, units];
  }
  build([, features]) {
    this.kernel = this.addWeight({ name: 'kernel', shape: [features, 4 * units] });
    this.recurrentKernel = this.addWeight({ name: 'recurrent_kernel', shape: [units, 4 * units] });
    this.bias = this.addWeight({ name: 'bias', shape: [4 * units], initializer: 'zeros' });
  }
  call(x, [hidden, memory]) {
    const sums = ops.add(ops.add(ops.matmul(x, this.kernel.read()), this.bias.read()), ops.matmul(hidden, this.recurrentKernel.read()));
    const part = (i) => ops.slice(sums, 1, i * units, units);
    const next = ops.add(ops.multiply(ops.sigmoid(part(1)), memory), ops.multiply(ops.sigmoid(part(0)), ops.tanh(part(2))));
    const output = ops.multiply(ops.sigmoid(part(3)), ops.tanh(next));
    return [output, [output, next]];
  }
}
/** Adds a layer of the inputs to a matrix for each sample; the output is a part of it. */
class Sums extends et.RnnCell {
  stateSize = [[2, 2], 1];
  outputSize = 2;
  dense = et.layers.dense({ units: 4, kernelInitializer: 'ones' });
  call(x, [matrix, count]) {
    const next = ops.add(matrix, ops.reshape(this.dense.call(x), matrix.shape));
    return [ops.squeeze(ops.slice(next, 1, 0, 1), 1), [next, ops.add(count, 1)]];
  }
}

/** The results and weights of a model of that recurrent layer with the weights of `like`, after a few steps of training. */
async function trained(layer, like, data) {
  const model = et.sequential([et.layers.masking(), layer, et.layers.globalAveragePooling1d(), et.layers.dense({ units: 1, kernelInitializer: 'ones' })]);
  model.build([-1, ...data.shape.slice(1)]);
  layer.setWeights(like.getWeights());
  model.compile(mse());
  const { history } = await model.fit(data, y, { ...quiet, epochs: 3, batchSize: 2 });
  return { loss: history.loss, weights: weightsOf(model), predicted: [...(await model.predict(data, { verbose: 0 })).data] };
}

test('a custom cell in a recurrent layer computes and trains as the layer of the same formula', async () => {
  const kinds = [
    [() => new Minimal(), et.layers.simpleRnn],
    [() => new Gated(), et.layers.lstm],
  ];
  for (const [cell, factory] of kinds)
    for (const data of [x, padded])
      for (const options of [{}, { goBackwards: true }, { unroll: true }]) {
        const given = { returnSequences: true, ...options };
        const like = factory({ units });
        like.call(x);
        const own = await trained(et.layers.rnn({ cell: cell(), ...given }), like, data);
        const builtIn = await trained(factory({ units, ...given }), like, data);
        assertClose(own.loss, builtIn.loss);
        assertClose(own.weights, builtIn.weights, 1e-5);
        assertClose(own.predicted, builtIn.predicted, 1e-5);
      }
});

test('the states of a custom cell are returned, kept and given', () => {
  const cell = new Gated();
  const all = et.layers.rnn({ cell, returnState: true });
  const [output, hidden, memory] = all.call(x);
  assert.deepEqual([output.shape, hidden.shape, memory.shape], [[4, units], [4, units], [4, units]]);
  assert.deepEqual(output.data, hidden.data);
  const half = (begin) => et.tensor(x.array().map((row) => row.slice(begin, begin + 2)));
  const [, ...states] = all.call(half(0));
  const whole = all.call(et.tensor(x.array().map((row) => row.slice(0, 4))))[0];
  assertClose([...all.call([half(2), ...states])[0].data], [...whole.data]);
  const stateful = et.layers.rnn({ cell, stateful: true });
  stateful.call(half(0));
  assertClose([...stateful.call(half(2)).data], [...whole.data]);
});

test('states may have several axes, and the output other units', () => {
  const cell = new Sums();
  const layer = et.layers.rnn({ cell, returnSequences: true, returnState: true });
  const [output, matrix, count] = layer.call([[[1, 2], [3, 4], [0, 0.5]]]);
  assert.deepEqual(output.array(), [[[3, 3], [10, 10], [10.5, 10.5]]]);
  assert.deepEqual([matrix.array(), count.array()], [[[[10.5, 10.5], [10.5, 10.5]]], [[3]]]);
  assert.equal(cell.countParams(), 2 * 4 + 4);
  assert.equal(layer.trainableVariables.length, 2);
});

test('a custom cell is called alone, on Values and on data', () => {
  const cell = new Minimal();
  const step = et.tensor([[1, 2]]), state = et.tensor([[0.1, 0.2, 0.3]]);
  const [output, [next]] = cell.call(step, [state]);
  assert.deepEqual(output.data, next.data);
  assert.deepEqual(cell.inputShape, [1, 2]);
  assertClose([...et.layers.rnn({ cell }).call([[[1, 2]]]).data], [...cell.call(step, [et.tensor([[0, 0, 0]])])[0].data]);
  const layer = et.model({ layers: [cell], call: (x) => cell.call(x, [ops.zeros([x.shape[0], units])])[1][0] });
  assertClose([...layer.call(step).data], [...cell.call(step, [et.tensor([[0, 0, 0]])])[0].data]);
});

test('custom cells are stacked, and copied for a second direction', () => {
  const stacked = et.layers.rnn({ cell: et.layers.stackedRnnCells({ cells: [new Minimal(), new Gated()] }) });
  assert.deepEqual(stacked.call(x).shape, [4, units]);
  assert.equal(stacked.variables.length, 6);
  const both = et.layers.bidirectional({ layer: et.layers.rnn({ cell: new Minimal() }) });
  assert.deepEqual(both.call(x).shape, [4, 2 * units]);
  assert.equal(both.variables.length, 6);
});

test('within its call, a cell of mixed precision reads its weights in the dtype of computation', () => {
  let dtypes;
  class Half extends Minimal {
    call(x, states) {
      dtypes = [x.dtype, states[0].dtype, this.kernel.read().dtype];
      return super.call(x, states);
    }
  }
  const cell = new Half({ dtype: 'mixed_float16' });
  et.layers.rnn({ cell, dtype: 'mixed_float16' }).call(x);
  assert.deepEqual(dtypes, ['float16', 'float16', 'float16']);
  assert.equal(cell.kernel.dtype, 'float32');
});

test('misuse of a custom cell is an error', async () => {
  const error = new RangeError('mine');
  const run = (Class) => () => et.layers.rnn({ cell: new Class() }).call(x);
  const returning = (result) =>
    class Wrong extends Minimal {
      call = (x, [state]) => result(x, state);
    };
  class Failing extends Minimal {
    call() {
      throw error;
    }
  }
  assert.throws(run(Failing), (thrown) => thrown === error);
  await assertError(run(class Later extends Minimal {
    async call(...given) {
      return super.call(...given);
    }
  }), 'value', '[call] a promise was returned');
  await assertError(run(class Idle extends et.RnnCell {
    stateSize = 2;
  }), 'value', '[call] a cell of the class Idle', 'define call()');
  await assertError(run(class Sizeless extends et.RnnCell {
    call = (x) => [x, [x]];
  }), 'value', '[stateSize] a cell of the class Sizeless', 'set stateSize');
  await assertError(run(returning((x, state) => state)), 'value', '[call] a Value - expected [output, states]');
  await assertError(run(returning((x, state) => [state, [state, state]])), 'value', 'a step that returns 2 states - expected 1');
  await assertError(run(returning((x, state) => [state, [x]])), 'shape', 'a next state of shape [4, 2] - expected [4, 3]');
  await assertError(() => et.layers.bidirectional({ layer: et.layers.rnn({ cell: new Gated() }) }), 'value', '[copy] a cell of the class Gated', 'define copy()');
  await assertError(() => et.layers.rnn({ cell: new (class extends et.Layer {})() }), 'value', 'expected a cell, such as LSTMCell');
  await assertError(() => et.sequential([et.layers.rnn({ cell: new Minimal() })]).toJson(), 'value', 'which is not registered');
});

test('a recurrent layer keeps its custom cell, and is collected with it', async () => {
  const registry = [];
  const make = () => {
    const cell = new Minimal();
    registry.push(new WeakRef(cell));
    return et.layers.rnn({ cell });
  };
  const kept = make();
  await collect();
  const long = new et.Tensor(new Float32Array(10_000), [1, 5, 2000]);
  kept.call(long);
  for (let i = 0; i < 10; ++i) make().call(long);
  await collect();
  const before = et.memory().usedBytes;
  for (let i = 0; i < 50; ++i) make().call(long);
  await collect();
  assert.ok(registry.filter((each) => each.deref()).length < 10, 'objects remain');
  assert.ok(et.memory().usedBytes < before + 100_000, `${et.memory().usedBytes - before} bytes more`);
});
