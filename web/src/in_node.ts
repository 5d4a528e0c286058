import * as fs from 'node:fs';
import { createRequire } from 'node:module';
import { scripts } from './scripts.mjs';
import { lend } from './node.js';

lend({ fs, createRequire, scripts });
