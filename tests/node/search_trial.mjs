// A trial of the searches of search.test.mjs: x is its loss, and `act` says what it does.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as et from 'etude-ml';

await et.experiment.trialMain(async (context) => {
  const { x, act = 'report', times = [1, 3] } = context.info.trial.hparams, { storage } = context.info;
  const report = (time) => context.train.reportMetrics('validation', time, { loss: x, seed: context.info.trial.trialSeed });
  const untilAsked = async () => { while (!context.preempt.shouldPreempt()) await sleep(1); };
  const saved = join(storage, 'saved');
  if (act === 'print') console.log(`x = ${x}`);
  if (act === 'invalid' && x === 1) {
    report(1);
    throw new et.experiment.InvalidHP('x must not be 1');
  }
  if (act === 'fail') {
    appendFileSync(join(storage, 'runs'), 'run\n');
    const made = context.checkpoint.storePath();
    made.commit();
    report(context.checkpoint.list().length);
    if (context.checkpoint.list().length < 3) throw new Error('it fails');
    return;
  }
  if (act === 'store') for (const score of [x, 10 * x]) context.checkpoint.storePath().commit(score);
  if (act === 'exit') process.exit(3);
  if (act === 'save' && !existsSync(saved)) {
    report(1);
    await untilAsked();
    writeFileSync(saved, '');
    throw new et.experiment.Preempted('saved');
  }
  if (act === 'hang') {
    report(4);
    for (;;) await sleep(1);
  }
  for (const time of times) report(time);
  if (act === 'stop' || act === 'linger') await untilAsked();
  if (act === 'linger') {
    await sleep(50);
    writeFileSync(saved, '');
  }
});
