/** The part of the module for trials and searches. Its functions are registered when it is first used. */
import { fail } from './error.js';
import type { MainModule } from './etude.mjs';
import { hostFiles, module, ready } from './module.js';
import type { Part } from './parts.js';

export { module };

let registered: MainModule | undefined;

/** Loads the part, and others, and makes its functions callable. */
export async function loadExperiment(...others: Part[]): Promise<void> {
  await ready({ parts: ['experiment', ...others] });
  if (registered !== module) (module as unknown as { experiment_load(): void }).experiment_load();
  registered = module;
}

/** Throws EtudeError "io" if the module has no files. */
export function checkFiles(where: string): void {
  if (!hostFiles()) fail('io', where, 'no file system is available - expected files that openFiles opened - open them first: await et.openFiles(\'my page\').');
}
