// Checks the house's rules that a compiler does not know: which room may include which, and what core must not say.
// The rooms are the folders of core/ and native/; bindings/ and demo/ are outside and see the public face only.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const umbrella = 'etude.hpp'; // may include everything in core
const beside = 'eigen.hpp'; // for users of Eigen
const doors = [umbrella, beside]; // the only ones for those outside

// room: the rooms it stands on. What those stand on is allowed too.
const nouns = ['initializers', 'regularizers', 'constraints', 'activations'];
const standsOn = {
  base: [],
  graph: ['base'],
  ops: ['graph'],
  execution: ['graph'],
  kernels: ['execution', 'graph'],
  ...Object.fromEntries(nouns.map((noun) => [noun, ['ops']])),
  layers: ['ops', ...nouns],
  losses: ['ops'],
  metrics: ['losses', 'ops'],
  optimizers: ['ops'],
  data: ['base'],
  distribute: ['execution', 'ops'],
  training: ['layers', 'losses', 'metrics', 'optimizers', 'data', 'distribute', 'execution'],
  saving: ['training'],
  callbacks: ['training', 'saving'],
  experiment: ['callbacks'],
  [beside]: ['base'],
  'native/cuda': ['execution', 'graph'],
  'native/gloo': ['distribute'],
};
const outside = ['bindings', 'demo'];
const simd = 'core/kernels/cpu/simd.hpp';

const reachable = Object.fromEntries(Object.keys(standsOn).map((room) => [room, closure(room)]));

function closure(room, seen = new Set()) {
  if (!seen.has(room)) {
    seen.add(room);
    standsOn[room].forEach((next) => closure(next, seen));
  }
  return seen;
}

const complaints = [];
let files = 0;
for (const top of ['core', 'native', 'bindings', 'demo', 'tests']) {
  for (const path of sourcesBelow(top)) check(path);
}
for (const complaint of complaints) console.error(complaint);
console.log(`includes: ${files} files, ${complaints.length} complaints`);
process.exitCode = complaints.length ? 1 : 0;

function sourcesBelow(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.(hpp|cpp|h|inc|cu|cuh)$/.test(name) && !name.split(sep).includes('node_modules'))
    .map((name) => join(folder, name).split(sep).join('/'));
}

function roomOf(path) {
  const [top, room] = path.split('/');
  if (top === 'core') return path === `core/${umbrella}` ? umbrella : room;
  return top === 'native' ? `native/${room}` : top;
}

function check(path) {
  files += 1;
  const room = roomOf(path);
  readFileSync(join(root, path), 'utf8').split('\n').forEach((line, index) => {
    const complain = (text) => complaints.push(`${path}:${index + 1}: ${text}`);
    const include = /^\s*#\s*include\s*(["<])([^">]+)[">]/.exec(line);
    if (include) checkInclude(path, room, include[1], include[2], complain);
    if (path.startsWith('core/') && /cuda|emscripten/i.test(line)) complain('core knows neither of these by name; ask the Device');
    const program = path.startsWith('tests/') || path.startsWith('demo/'); // what nobody includes
    if (!program && /^using namespace\b/.test(line)) complain('"using namespace" at file scope');
  });
}

function checkInclude(path, room, quote, name, complain) {
  if (name.startsWith('xsimd') && path !== simd) complain(`only ${simd} includes xsimd`);
  if (room === 'tests') return;
  if (name.startsWith('tests/')) complain('nothing includes tests');
  if (!name.startsWith('etude/')) {
    const neighbour = quote === '"';
    if (neighbour && path.startsWith('core/')) complain(`"${name}" - write "etude/<room>/<file>.hpp"`);
    return;
  }
  const target = name.slice('etude/'.length);
  if (!existsSync(join(root, 'core', target))) return complain(`${name} does not exist`);
  if (outside.includes(room)) {
    if (!doors.includes(target)) complain(`${room} includes only etude/${doors.join(' and etude/')}, not ${name}`);
    return;
  }
  if (room === umbrella) return;
  const targetRoom = target === umbrella ? umbrella : target.split('/')[0];
  if (!reachable[room]) return complain(`"${room}" is no room of the house; add it to tests/check_includes.mjs and the design`);
  if (!reachable[room].has(targetRoom)) complain(`${room} must not include ${name}: it stands on ${[...reachable[room]].join(', ')}`);
}
