/** The program of a trial. */
import { inNode } from './node.js';
import { InvalidHP, Preempted, preemptedExitCode } from './preemption.js';
import { init, type Config, type Context } from './trial.js';
import { beginWorkerTrial } from './trial_worker.js';

/**
 * Runs the program of a trial and returns its exit code: 0 if it ends, and also if it throws InvalidHP, which is reported;
 * preemptedExitCode, 143, if it throws Preempted; 1 for other exceptions, which are printed. In Node.js it becomes the exit
 * code of the process. A worker waits for the search that has started it, and runs its trial.
 *
 *     await et.experiment.trialMain(async (context) => { … });
 */
export async function trialMain(program: (context: Context) => void | Promise<void>, config?: Config): Promise<number> {
  const trial = await beginWorkerTrial();
  const status = await run(program, config);
  if (trial) await trial.end(status);
  else if (inNode) process.exitCode = status;
  return status;
}

async function run(program: (context: Context) => void | Promise<void>, config?: Config): Promise<number> {
  let context: Context | undefined;
  try {
    context = await init(config);
    await program(context);
    return 0;
  } catch (error) {
    if (error instanceof InvalidHP && context) {
      context.train.reportInvalidHp(error.message);
      return 0;
    }
    if (error instanceof Preempted) return preemptedExitCode;
    console.error(error);
    return 1;
  } finally {
    context?.close();
  }
}
