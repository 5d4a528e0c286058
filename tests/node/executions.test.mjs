// makeTrainFunction, makeTestFunction and makePredictFunction: functions that run the executions of loops.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import * as et from 'etude-ml';
import { assertError, signsOf, twoDense, waves, weightsOf } from './support.mjs';

const quiet = { verbose: 0 };
const x = waves([7, 3]);
const y = signsOf(x);
const compileOptions = (stepsPerExecution = 1) => ({ optimizer: et.optimizers.sgd({ learningRate: 0.1 }), loss: 'mse', stepsPerExecution });

/** The model of twoDense as a class. */
class TwoDense extends et.Model {
  constructor(options) {
    super(options);
    [this.hidden, this.out] = twoDense().layers;
  }
  call(x, training) {
    return this.out.call(this.hidden.call(x, training), training);
  }
}
/** What a model gives after three epochs of batches of 2, 2, 2 and 1 rows. */
async function results(model, stepsPerExecution) {
  model.compile(compileOptions(stepsPerExecution));
  const { history } = await model.fit(x, y, { ...quiet, batchSize: 2, epochs: 3, shuffle: false });
  const outputs = await model.predict(x, { ...quiet, batchSize: 2 });
  return { history, weights: weightsOf(model), outputs: [...outputs.data], evaluated: await model.evaluate(x, y, { ...quiet, batchSize: 2 }) };
}

test('makeTrainFunction, makeTestFunction and makePredictFunction may call the default, in classes and as options', async () => {
  class Passing extends TwoDense {
    makeTrainFunction(force) {
      return super.makeTrainFunction(force);
    }
    makeTestFunction(force) {
      const runSteps = super.makeTestFunction(force);
      return async (batches) => ({ ...(await runSteps(batches)) });
    }
    makePredictFunction(force) {
      const runSteps = super.makePredictFunction(force);
      return (batches) => runSteps(batches);
    }
  }
  for (const stepsPerExecution of [1, 3]) {
    const expected = await results(twoDense(), stepsPerExecution);
    assert.deepEqual(await results(new Passing(), stepsPerExecution), expected);
    const options = {
      makeTrainFunction(force) {
        return this.makeTrainFunction(force);
      },
    };
    assert.deepEqual(await results(et.sequential(twoDense().layers, options), stepsPerExecution), expected);
  }
});

test('makeTrainFunction: several steps on a batch, other batches, skipped batches, and logs of its own', async () => {
  const made = [], taken = [];
  class Own extends TwoDense {
    makeTrainFunction(force) {
      made.push(force);
      const runSteps = super.makeTrainFunction(force);
      return async (batches) => {
        const { value: batch } = await batches.next();
        taken.push(batch.x.shape[0]);
        await runSteps([batch]);
        const logs = await runSteps([{ x: batch.x, y: et.tensor(batch.y.data.map(() => 3), batch.y.shape) }]);
        return { ...logs, rows: taken.at(-1) };
      };
    }
  }
  const model = new Own();
  model.compile(compileOptions(2));
  const ends = [];
  const callbacks = [{ onTrainBatchEnd: (step, logs) => void ends.push([step, logs.rows]) }];
  const { history } = await model.fit(x, y, { ...quiet, batchSize: 2, epochs: 2, shuffle: false, callbacks });
  assert.deepEqual(made, [false]);
  assert.deepEqual(taken, [2, 2, 2, 2]);
  assert.deepEqual(ends, [[1, 2], [3, 2], [1, 2], [3, 2]]);
  assert.deepEqual(history.rows, [2, 2]);

  const usual = twoDense();
  usual.compile(compileOptions());
  const rows = (from, to) => x.data.slice(3 * from, 3 * to);
  for (const first of [0, 4, 0, 4]) {
    const batch = et.tensor(rows(first, first + 2), [2, 3]);
    usual.trainOnBatch(batch, et.tensor(y.data.slice(first, first + 2), [2, 1]));
    usual.trainOnBatch(batch, et.tensor([3, 3], [2, 1]));
  }
  assert.deepEqual(weightsOf(model), weightsOf(usual));
});

test('makeTrainFunction: the batches may pass through a generator, and those of ragged data keep their masks', async () => {
  const layers = () => [et.layers.masking(), et.layers.lstm({ units: 2, kernelInitializer: 'ones', recurrentInitializer: 'zeros' }), et.layers.dense({ units: 1, kernelInitializer: 'ones' })];
  const data = new et.RaggedTensor(et.tensor(waves([6, 2]).data, [6, 2]), [0, 1, 4, 6]);
  const targets = et.tensor([1, 0, 1], [3, 1]);
  const expected = et.sequential(layers());
  expected.compile(compileOptions());
  await expected.fit(data, targets, { ...quiet, batchSize: 3, epochs: 2 });
  async function* counted(batches, counts) {
    for await (const batch of batches) {
      counts.push(batch.y.shape[0]);
      yield batch;
    }
  }
  const counts = [];
  const model = et.sequential(layers(), {
    makeTrainFunction(force) {
      const runSteps = this.makeTrainFunction(force);
      return (batches) => runSteps(counted(batches, counts));
    },
  });
  model.compile(compileOptions());
  await model.fit(data, targets, { ...quiet, batchSize: 3, epochs: 2 });
  assert.deepEqual(counts, [3, 3]);
  assert.deepEqual(weightsOf(model), weightsOf(expected));
});

test('makePredictFunction changes predictions, by name too, and in streams', async () => {
  const input = et.input({ shape: [3] });
  const options = {
    makePredictFunction(force) {
      const runSteps = this.makePredictFunction(force);
      return async (batches) => {
        const { z, a } = await runSteps(batches);
        return { a: et.tensor(z.data.map((value) => 2 * value), z.shape), z: a };
      };
    },
  };
  const outputs = { z: et.ops.multiply(input, 1), a: et.ops.negate(input) };
  const model = et.model({ inputs: { input }, outputs, ...options });
  const check = ({ a, z }, from, to) => {
    const part = x.data.slice(3 * from, 3 * to);
    assert.deepEqual([...a.data], [...part.map((value) => 2 * value)]);
    assert.deepEqual([...z.data], [...part.map((value) => -value)]);
  };
  check(await model.predict({ input: x }, { ...quiet, batchSize: 3 }), 0, 7);
  let from = 0;
  for await (const batch of model.predictStream({ input: x }, { ...quiet, batchSize: 3 })) {
    check(batch, from, Math.min(from + 3, 7));
    from += 3;
  }
});

test('makeTrainFunction: steps that the function does not await end within their execution', async () => {
  const model = et.sequential(twoDense().layers, {
    makeTrainFunction(force) {
      const runSteps = this.makeTrainFunction(force);
      return (batches) => {
        void runSteps(batches);
        return { own: 1 };
      };
    },
  });
  model.compile(compileOptions());
  const { history } = await model.fit(x, y, { ...quiet, batchSize: 2, shuffle: false });
  assert.deepEqual(history, { own: [1] });
  const usual = twoDense();
  usual.compile(compileOptions());
  await usual.fit(x, y, { ...quiet, batchSize: 2, shuffle: false });
  assert.deepEqual(weightsOf(model), weightsOf(usual));
});

test('makeTrainFunction: misuse is an error that says what to do', async () => {
  let kept, late;
  const make = (makeTrainFunction) => {
    const model = et.sequential(twoDense().layers, { makeTrainFunction });
    model.compile(compileOptions());
    return model;
  };
  const fit = (model) => model.fit(x, y, quiet);
  await assertError(() => fit(make(() => undefined)), 'value', 'no function was returned');
  await assertError(() => fit(make(() => () => 3)), 'value', 'the logs = 3 - expected an object of numbers');
  await assertError(() => fit(make(() => () => ({ loss: 'none' }))), 'value', 'loss = "none"');
  await assert.rejects(fit(make(() => async () => { throw new RangeError('own'); })), RangeError);
  const model = make(function (force) {
    kept = this.makeTrainFunction(force);
    return (batches) => ((late = batches), kept(batches));
  });
  await assertError(() => model.trainOnBatch(x, y), 'state', 'call fit with this batch');
  await fit(model);
  await assertError(async () => kept([[x, y]]), 'state', 'called outside of a loop');
  assert.deepEqual(await late.next(), { done: true, value: undefined });
  // Single batches for evaluate and predict are not affected.
  assert.equal(typeof model.testOnBatch(x, y), 'number');
  const predicting = et.sequential(twoDense().layers, { makePredictFunction: () => () => et.tensor([1], [1]) });
  await assertError(() => predicting.predictOnBatch(x), 'state', 'call predict with this batch');
});

test('if default steps that are not awaited fail, it is an unhandled rejection', () => {
  const program = `
    import * as et from 'etude-ml';
    const model = et.sequential([et.layers.dense({ units: 1 })], {
      makeTrainFunction(force) {
        const run = et.Model.prototype.makeTrainFunction.call(this, force);
        return async (batches) => {
          for await (const { y } of batches) void run([[[[1, 2]], y]]);
          return { loss: 0 };
        };
      },
    });
    model.build([null, 1]);
    model.compile({ loss: 'mse' });
    process.on('unhandledRejection', (error) => console.log(error.kind));
    const { history } = await model.fit([[1]], [[1]], { verbose: 0 });
    console.log(history.loss);`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: import.meta.dirname, encoding: 'utf8' });
  assert.equal(stdout, 'shape\n[ 0 ]\n', stderr);
});
