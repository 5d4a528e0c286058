// Builds the package: the WebAssembly module from the folder $ETUDE_MODULE, the options' types that it prints, and the
// TypeScript compiled to dist/.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const from = process.env.ETUDE_MODULE;
if (!from) throw new Error('ETUDE_MODULE is not set - expected the folder of etude.mjs - build the package by ./dev test npm.');
process.chdir(import.meta.dirname ?? new URL('.', import.meta.url).pathname);
for (const folder of ['wasm', 'dist']) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
}

copyFileSync(join(from, 'etude.mjs'), 'wasm/etude.mjs');
copyFileSync(join(from, 'etude.wasm'), 'wasm/etude.wasm');

// Both declare types by names that are explained in web/src/types.ts.
const imports = (names) => `import type { ${names} } from './types.js';\n`;
const { default: createEtude } = await import(pathToFileURL(join(from, 'etude.mjs')).href);
const options = (await createEtude({ wasmBinary: readFileSync('wasm/etude.wasm') })).optionTypes();
const optionNames = [...options.matchAll(/export interface (\w+)/g)].map((match) => match[1]);
const classes = ['Initializer', 'Layer', 'Loss', 'Metric', 'Optimizer'];
writeFileSync(
  'wasm/options.d.mts',
  imports('CallbackLike, DataLike, LayerLike, StepData, StepLogs, TensorLike, Value') + `import type { ${classes} } from './etude.mjs';\n\n${options}`,
);
writeFileSync(
  'wasm/etude.d.mts',
  imports('Batch, DType, DataLike, History, LayerLike, StepData, StepLogs, Tensor, TensorLike, Value, ValueLike') +
    `import type { ${optionNames.join(', ')} } from './options.mjs';\n` +
    readFileSync(join(from, 'etude.d.ts'), 'utf8')
      // Emscripten's own exports, and what frees a handle: neither is for users.
      .replace(/declare namespace RuntimeExports \{[^]*?\n\}\n/, '')
      .replace('typeof RuntimeExports & ', '')
      .replaceAll('  delete(): void;\n', '')
      // Embind has no overloads.
      .replace('call(x: unknown, training?: boolean): unknown;', (call) =>
        ['Value, Value', 'TensorLike, Tensor'].map((pair) => pair.split(', ').reduce((text, type) => text.replace('unknown', type), call)).join('\n  ')),
);

execFileSync(process.execPath, [createRequire(import.meta.url).resolve('typescript/bin/tsc')], { stdio: 'inherit' });
for (const file of ['etude.mjs', 'etude.wasm', 'etude.d.mts', 'options.d.mts']) copyFileSync(join('wasm', file), join('dist', file));
