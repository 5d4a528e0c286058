// Checks rules that a compiler cannot check: which folder may include which, that there are no include cycles, and
// which names core must not use. bindings/ and demo/ may only use the public headers.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

const umbrella = 'etude.hpp'; // may include everything in core
const beside = 'eigen.hpp'; // for users of Eigen
const publicHeaders = [umbrella, beside]; // the only ones for bindings/ and demo/

// Each folder and the folders that it may include, directly or through them.
const classFolders = ['initializers', 'regularizers', 'constraints', 'activations'];
const includes = {
  base: [],
  classes: ['base'],
  graph: ['base'],
  ops: ['graph'],
  execution: ['graph'],
  kernels: ['execution', 'graph'],
  devices: ['execution', 'kernels'],
  ...Object.fromEntries(classFolders.map((folder) => [folder, ['ops', 'classes']])),
  layers: ['ops', ...classFolders],
  losses: ['ops', 'classes'],
  metrics: ['losses', 'ops'],
  optimizers: ['ops', 'classes'],
  data: ['base', 'classes'],
  distribute: ['execution', 'ops', 'devices'],
  training: ['layers', 'losses', 'metrics', 'optimizers', 'data', 'distribute', 'execution'],
  saving: ['training'],
  callbacks: ['training', 'saving'],
  experiment: ['callbacks'],
  [beside]: ['base'],
  'native/cuda': ['execution', 'graph', 'devices', 'distribute'],
  'native/gloo': ['distribute', 'saving'],
  'native/mpi': ['distribute'],
  'native/search': ['experiment'],
  'native/coordinator': ['training', 'execution', 'native/gloo'],
};
const outside = ['bindings', 'demo'];
const simd = 'core/etude/kernels/cpu/simd.hpp';

const reachable = Object.fromEntries(Object.keys(includes).map((folder) => [folder, closure(folder)]));

function closure(folder, seen = new Set()) {
  if (!seen.has(folder)) {
    seen.add(folder);
    includes[folder].forEach((next) => closure(next, seen));
  }
  return seen;
}

const complaints = [];
const linked = new Map(); // by header, with its source: the headers that it includes
let files = 0;
for (const top of ['core', 'native', 'bindings', 'demo', 'tests']) {
  for (const path of sourcesBelow(top)) check(path);
}
for (const circle of circles()) complaints.push(`a circle of includes between ${circle.sort().join(', ')}: a header and its source count as one`);
for (const complaint of complaints) console.error(complaint);
console.log(`includes: ${files} files, ${complaints.length} complaints`);
process.exitCode = complaints.length ? 1 : 0;

function sourcesBelow(folder) {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.(hpp|cpp|h|inc|cu|cuh)$/.test(name) && !name.split(sep).includes('node_modules'))
    .map((name) => join(folder, name).split(sep).join('/'));
}

function folderOf(path) {
  const [top, folder, inner] = path.split('/');
  if (top === 'core') return inner;
  return top === 'native' ? `native/${folder}` : top;
}

function check(path) {
  files += 1;
  const folder = folderOf(path);
  readFileSync(join(root, path), 'utf8').split('\n').forEach((line, index) => {
    const complain = (text) => complaints.push(`${path}:${index + 1}: ${text}`);
    const include = /^\s*#\s*include\s*(["<])([^">]+)[">]/.exec(line);
    if (include) checkInclude(path, folder, include[1], include[2], complain);
    if (path.startsWith('core/') && /cuda|emscripten/i.test(line)) complain('core must not name either of these; use the Device');
    const program = path.startsWith('tests/') || path.startsWith('demo/'); // files that are never included
    if (!program && /^using namespace\b/.test(line)) complain('"using namespace" at file scope');
    if (folder === 'layers' && path.endsWith('.hpp') && /\bclass_entry</.test(line)) complain('a program that includes this header compiles the entry of the class - define the constructor in the source');
  });
}

function checkInclude(path, folder, quote, name, complain) {
  if (name.startsWith('xsimd') && path !== simd) complain(`only ${simd} includes xsimd`);
  if (folder === 'tests') return;
  if (name.startsWith('tests/')) complain('nothing includes tests');
  if (name.startsWith('cuda/')) link(path, `native/${name}`);
  if (!name.startsWith('etude/')) {
    const neighbour = quote === '"';
    if (neighbour && path.startsWith('core/')) complain(`"${name}" - write "etude/<folder>/<file>.hpp"`);
    return;
  }
  const target = name.slice('etude/'.length);
  link(path, `core/etude/${target}`);
  if (!existsSync(join(root, 'core/etude', target))) return complain(`${name} does not exist`);
  if (outside.includes(folder)) {
    if (!publicHeaders.includes(target)) complain(`${folder} includes only etude/${publicHeaders.join(' and etude/')}, not ${name}`);
    return;
  }
  if (folder === umbrella) return;
  const targetFolder = target === umbrella ? umbrella : target.split('/')[0];
  const isPublic = path.startsWith('core/') && path.endsWith('.hpp') && !/\/(detail|execution|kernels)\//.test(path);
  if (isPublic && /^(execution|kernels)\//.test(target)) complain(`a public header must not include ${name}, which is not installed`);
  if (!reachable[folder]) return complain(`"${folder}" is not known; add it to tests/check_includes.mjs`);
  if (!reachable[folder].has(targetFolder)) complain(`${folder} must not include ${name}: it may include ${[...reachable[folder]].join(', ')}`);
}

function link(from, to) {
  const pair = (path) => path.replace(/\.(hpp|cpp|cuh)$/, '');
  if (!linked.has(pair(from))) linked.set(pair(from), new Set());
  if (pair(from) !== pair(to)) linked.get(pair(from)).add(pair(to));
}

/** Strongly connected components with several members, after Tarjan. */
function circles() {
  const found = [], open = [], number = new Map(), lowest = new Map();
  const visit = (pair) => {
    const own = number.size;
    number.set(pair, own);
    lowest.set(pair, own);
    open.push(pair);
    for (const next of linked.get(pair) ?? []) {
      if (!number.has(next)) visit(next);
      if (open.includes(next)) lowest.set(pair, Math.min(lowest.get(pair), lowest.get(next)));
    }
    if (lowest.get(pair) !== own) return;
    const circle = open.splice(open.indexOf(pair));
    if (circle.length > 1) found.push(circle);
  };
  for (const pair of linked.keys()) if (!number.has(pair)) visit(pair);
  return found;
}
