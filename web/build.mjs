// Builds the package: the builds of the WebAssembly module, from folders named as $ETUDE_MODULES says, the declarations
// generated beside the first, and the TypeScript compiled to dist/, for import and for require. A package that is
// published has all four builds; the demo of Node.js is content with the first.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build as bundle, buildSync } from 'esbuild';
import ts from 'typescript';

const folders = process.env.ETUDE_MODULES?.split(':');
if (!folders) throw new Error("ETUDE_MODULES is not set - expected the folders of the module's builds - build the package by ./dev test npm.");
process.chdir(import.meta.dirname ?? new URL('.', import.meta.url).pathname);
for (const folder of ['wasm', 'dist']) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}

/** The parts of a build, whose files are beside it. */
const partsOf = (from, stem) => readdirSync(from).flatMap((file) => (file.startsWith(`${stem}.`) && /^[^.]+\.([^.]+)\.wasm$/.exec(file)?.[1]) || []);

const builds = { simd: 'etude', 'simd-threads': 'etude-threads', relaxed: 'etude-relaxed', 'relaxed-threads': 'etude-relaxed-threads' };
const present = [], ofLite = [];
for (const [variant, build] of Object.entries(builds)) {
  if (variant !== 'simd') writeFileSync(`wasm/${build}.d.mts`, "export { default } from './etude.mjs';\n");
  const from = folders.find((folder) => existsSync(join(folder, `${build}.mjs`)));
  if (!from) continue;
  const parts = partsOf(from, build), lite = build.replace('etude', 'etude-lite');
  if (existsSync(join(from, `${lite}.wasm`))) {
    const types = ['wasm', ...partsOf(from, lite).map((part) => `${part}.wasm`)];
    for (const type of types) copyFileSync(join(from, `${lite}.${type}`), `wasm/${lite}.${type}`);
    ofLite.push([variant, build, partsOf(from, lite), lite]);
  }
  for (const type of ['mjs', 'wasm', ...parts.map((part) => `${part}.wasm`)]) copyFileSync(join(from, `${build}.${type}`), `wasm/${build}.${type}`);
  edit(`wasm/${build}.mjs`, build);
  present.push([variant, build, parts]);
}
if (present.length < folders.length) throw new Error(`found ${present} in ${folders} - expected a build in each - build the package by ./dev test npm.`);

// Spelled out, so that bundlers see what there is, and nothing that there is not. etude-ml/lite has the same scripts.
const address = (file) => `() => new URL('./${file}', import.meta.url)`;
const buildsText = (all, isLite) => `export const isLite = ${isLite};
export const builds = {
${all.map(([variant, build, parts, wasm = build]) => `  '${variant}': {
    script: () => import('./${build}.mjs'),
    wasm: ${address(`${wasm}.wasm`)},
    parts: {${parts.map((part) => ` ${part}: ${address(`${wasm}.${part}.wasm`)}`).join(',')} },
  },\n`).join('')}};
`;
writeFileSync('wasm/builds.mjs', buildsText(present, false));
writeFileSync('wasm/lite_builds.mjs', buildsText(ofLite, true));
writeFileSync('wasm/builds.d.mts', `import type { Factory } from './load.js';
import type { Part } from './parts.js';
import type { Variant } from './variant.js';
export interface Build { script(): Promise<{ default: Factory }>; wasm(): URL; parts: Partial<Record<Part, () => URL>> }
export const builds: Partial<Record<Variant, Build>>;
export const isLite: boolean;
`);
const identifier = (build) => build.replaceAll('-', '_');
const scriptsText = (all) => `${all.map(([, build]) => `import ${identifier(build)} from './${build}.mjs';\n`).join('')}
export const scripts = { ${all.map(([variant, build]) => `'${variant}': ${identifier(build)}, `).join('')}};
`;
writeFileSync('wasm/scripts.mjs', scriptsText(present));
writeFileSync('wasm/lite_scripts.mjs', scriptsText(ofLite));
writeFileSync('wasm/scripts.d.mts', `import type { NodeParts } from './node.js';
export const scripts: NodeParts['scripts'];
`);

/** Changes the output of Emscripten where bundlers, or Node.js, need other code. */
function edit(path, build) {
  let text = readFileSync(path, 'utf8');
  const replace = (pattern, by) => {
    const changed = text.replace(pattern, by);
    if (changed === text) throw new Error(`${path} has nothing like ${pattern} - expected what Emscripten 3.1.69 writes - look at what it has instead.`);
    text = changed;
  };
  // web/src/load.ts finds the module.
  replace(new RegExp(`new URL\\("${build}\\.wasm", ?import\\.meta\\.url\\)\\.href`), `"${build}.wasm"`);
  if (build.endsWith('threads')) {
    // Nothing waits when a script starts: in Node.js the module is there at once.
    replace(/const ?\{ ?createRequire(?:: ?createRequire)? ?\} ?= ?await import\("module"\)/, 'const createRequire=Module["createRequire"]||process.getBuiltinModule("module").createRequire');
    replace('async function(moduleArg', 'function(moduleArg');
    // A script that a bundler made of modules may not know its address.
    replace('let dirname=import.meta.url;', 'let dirname=import.meta.url||"data:";');
    replace('if(!import.meta.url.startsWith("data:"))', 'if(import.meta.url?.startsWith("file:"))');
    replace("(await import('worker_threads')).workerData", "process.getBuiltinModule?.('worker_threads').workerData");
    // How threads start, written out: bundlers look for that, and Node.js would hand on the program's options, of which
    // some, such as --input-type, keep threads from starting.
    replace(/new Worker\(new URL\([^)]*\), ?workerOptions\)/, (worker) => {
      const options = "{type:'module',workerData:'em-pthread',execArgv:[],name:'em-pthread'}";
      return `Module["threadScript"]?new Worker(Module["threadScript"],${options}):${worker.replace('workerOptions', options)}`;
    });
  }
  writeFileSync(path, text);
}

// Both declare types by names that are explained in web/src/types.ts.
const imports = (names) => `import type { ${names} } from './types.js';\n`;
const options = readFileSync(join(folders[0], 'options.d.ts'), 'utf8');
const optionNames = [...options.matchAll(/export (?:interface|type) (\w+)/g)].map((match) => match[1]);
const classes = [
  'Callback', 'Constraint', 'EarlyStopping', 'GroupedQueryAttention', 'Initializer', 'Layer', 'LearningRateSchedule', 'Loss', 'Mean', 'Metric', 'MultiHeadAttention', 'OperationalMetrics',
  'Optimizer', 'PreprocessingLayer', 'Recurrent', 'Regularizer', 'ReversibleEmbedding', 'StringLayer', 'Sum', 'SymbolicTensor', 'VocabularyLayer',
];
writeFileSync(
  'wasm/options.d.mts',
  imports('CallbackLike, DataLike, FileSink, HttpPost, LayerLike, Nested, PredictFunction, StepData, StepLogs, TensorLike, TrainFunction, Value, ValueLike') + `import type { ${classes} } from './etude.mjs';\n\n${options}`,
);
// Factories are classes in camelCase; what differs is spelled differently in letters' case alone.
const namesOf = (family, classes) => {
  const [, members = ''] = new RegExp(`export interface ${family[0].toUpperCase()}${family.slice(1)} \\{([^]*?)\\n\\}`).exec(options) ?? [];
  const factories = [...members.matchAll(/^  (\w+)\(/gm)].map(([, name]) => name);
  return classes.map((name) => factories.find((factory) => factory.toLowerCase() === name.toLowerCase().replace(/layer$/, '')) ?? unknownClass(family, name));
};
const unknownClass = (family, name) => {
  throw new Error(`${name} in the ${family} of bindings/lite.mjs - expected a class of the table - correct its spelling.`);
};
const liteList = folders.map((folder) => join(folder, 'etude-lite.classes.json')).find(existsSync);
const liteClasses = options && liteList ? JSON.parse(readFileSync(liteList, 'utf8')) : {};
const ofFamilies = ['layers', 'losses', 'metrics', 'optimizers', 'schedules', 'initializers', 'regularizers', 'callbacks']
  .map((family) => `  ${family}: ${namesOf(family, liteClasses[family] ?? []).map((name) => `'${name}'`).join(' | ') || 'never'};\n`);
writeFileSync('wasm/lite_classes.d.mts', `/** The classes of etude-ml/lite. */\nexport interface Classes {\n${ofFamilies.join('')}}\n`);
writeFileSync(
  'wasm/etude.d.mts',
  imports('Batch, BatchLike, CallbackParams, DType, DataLike, DatasetElement, FileSink, Files, History, HttpPost, LaterFiles, LayerLike, Nested, StepData, StepLogs, Tensor, TensorLike, TextInput, TextLike, Value, ValueLike') +
    `import type { ${optionNames.join(', ')} } from './options.mjs';\n` +
    readFileSync(join(folders[0], 'etude.d.ts'), 'utf8')
      // Emscripten's own exports, and what frees a handle: neither is for users.
      .replace(/declare namespace RuntimeExports \{[^]*?\n\}\n/, '')
      .replace('typeof RuntimeExports & ', '')
      .replaceAll('  delete(): void;\n', '')
      // Models do not contain layers of strings.
      .replace('interface StringLayer extends Layer ', "interface StringLayer extends Omit<Layer, 'call' | 'apply' | 'applyAll'> ")
      // Embind has no overloads.
      .replace('call(x: unknown, training?: boolean): unknown;', (call) =>
        ['Value, Value', 'readonly Value[], Value', 'TensorLike, Tensor', 'readonly TensorLike[], Tensor'].map((pair) => pair.split(', ').reduce((text, type) => text.replace('unknown', type), call)).join('\n  ')),
);

// ./dev demo has no declarations: then the TypeScript is compiled, and not checked.
const declared = process.env.ETUDE_DECLARATIONS !== 'OFF';
const unchecked = declared ? [] : ['--noCheck', '--declaration', 'false'];
execFileSync(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc'), ...unchecked], { stdio: 'inherit' });
for (const file of readdirSync('wasm')) copyFileSync(join('wasm', file), join('dist', file));

// One file for require, with the same files beside it.
const forRequire = {
  bundle: true, platform: 'node', format: 'cjs', target: 'node20', logLevel: 'error',
  define: { 'import.meta.url': 'scriptUrl' }, banner: { js: "const scriptUrl = require('node:url').pathToFileURL(__filename).href;" },
};
buildSync({ entryPoints: ['dist/index.node.js'], outfile: 'dist/index.cjs', ...forRequire });
if (declared) for (const name of ['index', 'lite']) writeFileSync(`dist/${name}.d.cts`, typesForRequire(name));

/** The declarations of what `require` returns: a constant, and beside it the names of all types, which a constant lacks. */
function typesForRequire(name) {
  const file = `dist/${name}.d.ts`, { NodeNext } = ts.ModuleKind;
  const program = ts.createProgram([file], { module: NodeNext, noLib: true, types: [] }), checker = program.getTypeChecker();
  const named = (module, path) => checker.getExportsOfModule(module).map((symbol) => {
    const exported = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol, own = `${path}.${symbol.name}`;
    if (exported.flags & ts.SymbolFlags.ValueModule) return `export namespace ${symbol.name} {\n${named(exported, own)}}\n`;
    if (!(exported.flags & ts.SymbolFlags.Type)) return '';
    const { typeParameters: parameters = [] } = exported.declarations.find((each) => each.typeParameters) ?? {};
    const list = (texts) => (texts.length ? `<${texts.join(', ')}>` : '');
    return `export type ${symbol.name}${list(parameters.map((each) => each.getText()))} = ${own}${list(parameters.map((each) => each.name.text))};\n`;
  }).join('');
  const types = named(checker.getSymbolAtLocation(program.getSourceFile(file)), 'all');
  return `import type * as all from './${name}.js' with { 'resolution-mode': 'import' };
declare const et: typeof all;
declare namespace et {
${types}}
export = et;
`;
}

// etude-ml/lite is one file, with other builds in place of those of the package.
const lite = {
  name: 'lite',
  setup(build) {
    build.onResolve({ filter: /^\.\/(builds|scripts)\.mjs$/ }, ({ path }) => ({ path: join(process.cwd(), 'dist', path.replace('./', 'lite_')) }));
    if (build.initialOptions.format === 'esm') build.onResolve({ filter: /^\.\/etude.*\.mjs$/ }, ({ path }) => ({ path, external: true }));
  },
};
const asModule = { bundle: true, format: 'esm', target: 'es2022', minifyIdentifiers: true, minifySyntax: true, keepNames: true, logLevel: 'error', allowOverwrite: true };
if (ofLite.length === 0) {
  // Builds with threads have none, and neither has that of ./dev demo.
  for (const file of readdirSync('dist').filter((name) => /^(lite|absent)/.test(name))) rmSync(join('dist', file));
  process.exit();
}
await bundle({ entryPoints: ['dist/lite.node.js'], outfile: 'dist/lite.cjs', ...forRequire, plugins: [lite] });
await bundle({ entryPoints: ['dist/lite.node.js'], outfile: 'dist/lite.node.js', ...asModule, platform: 'node', plugins: [lite] });
await bundle({ entryPoints: ['dist/lite.js'], outfile: 'dist/lite.js', ...asModule, plugins: [lite] });
for (const file of ['lite_builds.mjs', 'lite_scripts.mjs', 'absent.js']) rmSync(join('dist', file));
