import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import * as workers from 'node:worker_threads';
import { scripts } from './scripts.mjs';
import { lend } from './node.js';

lend({ fs, createRequire, fileURLToPath, scripts, workers, cores: availableParallelism() });
