// Builds the package: the builds of the WebAssembly module, from folders named as $ETUDE_MODULES says, the declarations
// generated beside the first, and the TypeScript compiled to dist/. A package that is published has all four builds; the
// demo of Node.js is content with the first.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const folders = process.env.ETUDE_MODULES?.split(':');
if (!folders) throw new Error("ETUDE_MODULES is not set - expected the folders of the module's builds - build the package by ./dev test npm.");
process.chdir(import.meta.dirname ?? new URL('.', import.meta.url).pathname);
for (const folder of ['wasm', 'dist']) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}

const builds = { simd: 'etude', 'simd-threads': 'etude-threads', relaxed: 'etude-relaxed', 'relaxed-threads': 'etude-relaxed-threads' };
const present = [];
for (const [variant, build] of Object.entries(builds)) {
  if (variant !== 'simd') writeFileSync(`wasm/${build}.d.mts`, "export { default } from './etude.mjs';\n");
  const from = folders.find((folder) => existsSync(join(folder, `${build}.mjs`)));
  if (!from) continue;
  for (const type of ['mjs', 'wasm']) copyFileSync(join(from, `${build}.${type}`), `wasm/${build}.${type}`);
  if (build.endsWith('threads')) withPlainWorkers(`wasm/${build}.mjs`);
  present.push(variant);
}
if (present.length < folders.length) throw new Error(`found ${present} in ${folders} - expected a build in each - build the package by ./dev test npm.`);
writeFileSync('wasm/variants.mjs', `export const present = ${JSON.stringify(present)};\n`);
writeFileSync('wasm/variants.d.mts', "import type { Variant } from './variant.js';\nexport const present: readonly Variant[];\n");

/**
 * How the module starts its threads, written out: bundlers look for that, and Node.js would hand on the program's options,
 * of which some, such as --input-type, keep threads from starting.
 */
function withPlainWorkers(path) {
  const text = readFileSync(path, 'utf8');
  const changed = text.replace(/(new Worker\(new URL\([^)]*\), ?)workerOptions\)/, "$1{type:'module',workerData:'em-pthread',execArgv:[],name:'em-pthread'})");
  if (changed === text) throw new Error(`${path} starts workers otherwise than expected - look for workerOptions in it.`);
  writeFileSync(path, changed);
}

// Both declare types by names that are explained in web/src/types.ts.
const imports = (names) => `import type { ${names} } from './types.js';\n`;
const options = readFileSync(join(folders[0], 'options.d.ts'), 'utf8');
const optionNames = [...options.matchAll(/export interface (\w+)/g)].map((match) => match[1]);
const classes = ['Initializer', 'Layer', 'LearningRateSchedule', 'Loss', 'Metric', 'Optimizer', 'Regularizer', 'SymbolicTensor'];
writeFileSync(
  'wasm/options.d.mts',
  imports('CallbackLike, DataLike, FileSink, HttpPost, LayerLike, StepData, StepLogs, TensorLike, Value, ValueLike') + `import type { ${classes} } from './etude.mjs';\n\n${options}`,
);
writeFileSync(
  'wasm/etude.d.mts',
  imports('Batch, BatchLike, CallbackParams, DType, DataLike, DatasetElement, FileSink, Files, History, HttpPost, LayerLike, StepData, StepLogs, Tensor, TensorLike, Value, ValueLike') +
    `import type { ${optionNames.join(', ')} } from './options.mjs';\n` +
    readFileSync(join(folders[0], 'etude.d.ts'), 'utf8')
      // Emscripten's own exports, and what frees a handle: neither is for users.
      .replace(/declare namespace RuntimeExports \{[^]*?\n\}\n/, '')
      .replace('typeof RuntimeExports & ', '')
      .replaceAll('  delete(): void;\n', '')
      // Embind has no overloads.
      .replace('call(x: unknown, training?: boolean): unknown;', (call) =>
        ['Value, Value', 'readonly Value[], Value', 'TensorLike, Tensor', 'readonly TensorLike[], Tensor'].map((pair) => pair.split(', ').reduce((text, type) => text.replace('unknown', type), call)).join('\n  ')),
);

execFileSync(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc')], { stdio: 'inherit' });
for (const file of readdirSync('wasm')) copyFileSync(join('wasm', file), join('dist', file));
