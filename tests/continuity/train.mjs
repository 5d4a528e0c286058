// A part of a training in Node.js, with the arguments of continuity.cpp.
import * as et from 'etude-ml';
import { train } from './training.mjs';

const [kind, path, ...numbers] = process.argv.slice(2);
const result = await train(et, kind, path, ...numbers.map(Number));
console.log(JSON.stringify({ ...result, variant: et.variant }));
