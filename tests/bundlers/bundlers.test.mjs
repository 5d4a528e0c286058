// The package with the default settings of bundlers. Each bundler builds a small program from the packed package, which
// then trains, in a page or in Node.js. $ETUDE_PACKAGE is the tarball.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import * as esbuild from 'esbuild';
import { rollup } from 'rollup';
import webpack from 'webpack';
import { launch, newPage } from '../browser/browser.mjs';
import { isolation, serve } from '../browser/serve.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-bundlers-'));
let browser;
before(async () => (browser = await launch()));
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

/** Trains on two threads where possible; one step with a loss of 1, large enough to use both. Uses a part of the module. */
const trains = `
async function trained() {
  await et.ready();
  et.setNumThreads(2);
  const model = et.sequential([et.layers.dense({ units: 300, kernelInitializer: 'zeros' }), et.layers.dense({ units: 1 })]);
  model.compile({ optimizer: 'sgd', loss: 'mse' });
  const ones = (rows, columns) => et.tensor(new Float32Array(rows * columns).fill(1), [rows, columns]);
  const { history } = await model.fit(ones(256, 200), ones(256, 1), { batchSize: 256, verbose: 0 });
  await et.ready({ parts: ['data'] });
  return [et.variant, et.numThreads(), history.loss[0] * et.data.range(1).cardinality()];
}`;
const app = `import * as et from 'etude-ml';
${trains}
trained().then((result) => (globalThis.result = result), (error) => (globalThis.result = String(error)));`;
const html = (head) => `<!doctype html><link rel="icon" href="data:,">${head}`;

/** A new folder with these files, in which the package is installed. */
function newApp(files) {
  const root = mkdtempSync(join(folder, 'app-'));
  const installed = join(root, 'node_modules/etude-ml');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', process.env.ETUDE_PACKAGE, '-C', installed, '--strip-components=1']);
  for (const [name, text] of Object.entries({ 'package.json': '{"private": true, "type": "module"}', 'main.js': app, ...files })) writeFileSync(join(root, name), text);
  return root;
}
/** Copies the builds, which a bundler that copies no files leaves to its user. */
function copyBuilds(root, to, pattern = /^etude.*\.(wasm|mjs)$/) {
  const dist = join(root, 'node_modules/etude-ml/dist');
  for (const file of readdirSync(dist).filter((name) => pattern.test(name))) cpSync(join(dist, file), join(to, file));
}

/** In a page: counts the threads that run. */
function countThreads() {
  globalThis.threads = 0;
  globalThis.Worker = class extends Worker {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', ({ data }) => (globalThis.threads += Number(data?.cmd === 'loaded')));
    }
  };
}
/** The result of a page's program, and the browser's errors. */
async function resultOf(url, threads = 0) {
  const page = await newPage(browser);
  await page.addInitScript(countThreads);
  await page.goto(url);
  await page.waitForFunction((count) => globalThis.result !== undefined && globalThis.threads >= count, threads, { timeout: 30_000 })
    .catch((error) => assert.fail(`${error.message} ${page.complaints}`));
  const result = await page.evaluate(() => globalThis.result);
  await page.close();
  return { result, complaints: page.complaints };
}
/** The page's thread is one of the two. */
async function assertTrains(url, isolated) {
  const expected = { result: isolated ? ['relaxed-threads', 2, 1] : ['relaxed', 1, 1], complaints: [] };
  assert.deepEqual(await resultOf(url, isolated ? 1 : 0), expected);
}
async function assertSiteTrains(root, page = 'index.html') {
  for (const headers of [{}, isolation]) {
    const site = await serve(root, headers);
    try {
      await assertTrains(site.url + page, headers === isolation);
    } finally {
      site.close();
    }
  }
}

for (const version of [5, 6, 7, 8]) {
  const page = html('<script type="module" src="/main.js"></script>');

  test(`Vite ${version}: build`, async () => {
    const { build } = await import(`vite${version}`);
    const root = newApp({ 'index.html': page });
    await build({ root, configFile: false, logLevel: 'error' });
    await assertSiteTrains(join(root, 'dist'));
  });

  test(`Vite ${version}: its server`, async () => {
    const { createServer } = await import(`vite${version}`);
    for (const headers of [{}, isolation]) {
      const root = newApp({ 'index.html': page });
      const server = await createServer({ root, configFile: false, logLevel: 'error', server: { host: '127.0.0.1', port: 0, headers } });
      await server.listen();
      try {
        await assertTrains(`http://127.0.0.1:${server.httpServer.address().port}/`, headers === isolation);
      } finally {
        await server.close();
      }
    }
  });
}

test('webpack 5', async () => {
  const root = newApp({});
  const stats = await new Promise((resolve, reject) =>
    webpack({ mode: 'production', context: root, entry: './main.js', output: { path: join(root, 'dist') } }, (error, stats) => (error ? reject(error) : resolve(stats))));
  assert.deepEqual(stats.toJson({ all: false, errors: true }).errors.map(({ message }) => message), []);
  writeFileSync(join(root, 'dist/index.html'), html('<script src="main.js"></script>'));
  await assertSiteTrains(join(root, 'dist'));
});

test('esbuild, with the builds copied beside its bundle', async () => {
  const root = newApp({});
  await esbuild.build({ absWorkingDir: root, entryPoints: ['main.js'], bundle: true, format: 'esm', outdir: 'dist', logLevel: 'error' });
  copyBuilds(root, join(root, 'dist'));
  writeFileSync(join(root, 'dist/index.html'), html('<script type="module" src="main.js"></script>'));
  await assertSiteTrains(join(root, 'dist'));
});

test('esbuild, as a plain script, with the address of the builds by et.configure', async () => {
  const root = newApp({ 'main.js': app.replace('await et.ready', "et.configure({ wasm: 'builds/' });\n  await et.ready") });
  await esbuild.build({ absWorkingDir: root, entryPoints: ['main.js'], bundle: true, outdir: 'dist', logLevel: 'error', logOverride: { 'empty-import-meta': 'silent' } });
  mkdirSync(join(root, 'dist/builds'));
  copyBuilds(root, join(root, 'dist/builds'));
  writeFileSync(join(root, 'dist/index.html'), html('<script src="main.js"></script>'));
  await assertSiteTrains(join(root, 'dist'));
});

test('esbuild, without copied builds: the error names the fix', async () => {
  const root = newApp({});
  await esbuild.build({ absWorkingDir: root, entryPoints: ['main.js'], bundle: true, format: 'esm', outdir: 'dist', logLevel: 'error' });
  writeFileSync(join(root, 'dist/index.html'), html('<script type="module" src="main.js"></script>'));
  const site = await serve(join(root, 'dist'));
  const { result } = await resultOf(`${site.url}index.html`);
  site.close();
  assert.match(result, /^EtudeError: \[ready\] "http:\S+\/etude-relaxed\.wasm" answered with status 404 .* deliver etude-relaxed\.wasm of the package's folder dist there, or say where it is by et\.configure\(\{ wasm: url \}\)\.$/);
});

test('Rollup, with the builds copied beside its bundle', async () => {
  const root = newApp({});
  const bundle = await rollup({ input: join(root, 'main.js'), plugins: [nodeResolve({ browser: true })], onLog: (level, log) => assert.notEqual(level, 'warn', log.message) });
  await bundle.write({ dir: join(root, 'dist') });
  copyBuilds(root, join(root, 'dist'));
  writeFileSync(join(root, 'dist/index.html'), html('<script type="module" src="main.js"></script>'));
  await assertSiteTrains(join(root, 'dist'));
});

/** The same program with etude-ml/lite, which has a part of its own, and no threads. */
const liteApp = app.replace("'etude-ml'", "'etude-ml/lite'").replace('et.setNumThreads(2);', '').replace("await et.ready({ parts: ['data'] });", '')
  .replace('[et.variant, et.numThreads(), history.loss[0] * et.data.range(1).cardinality()]', "[et.variant, 1, history.loss[0] * (await model.toBytes('safetensors'))[8] / 123]"); // "{"
async function assertLiteTrains(root, page = 'index.html') {
  const site = await serve(root, {});
  try {
    await assertTrains(site.url + page, false);
  } finally {
    site.close();
  }
}
test('etude-ml/lite by webpack 5', async () => {
  const root = newApp({ 'main.js': liteApp });
  const stats = await new Promise((resolve, reject) =>
    webpack({ mode: 'production', context: root, entry: './main.js', output: { path: join(root, 'dist') } }, (error, stats) => (error ? reject(error) : resolve(stats))));
  assert.deepEqual(stats.toJson({ all: false, errors: true }).errors.map(({ message }) => message), []);
  writeFileSync(join(root, 'dist/index.html'), html('<script src="main.js"></script>'));
  await assertLiteTrains(join(root, 'dist'));
});

test('etude-ml/lite by Vite 8, and as a plain module script', async () => {
  const { build } = await import('vite8');
  const root = newApp({ 'index.html': html('<script type="module" src="/main.js"></script>'), 'main.js': liteApp });
  await build({ root, configFile: false, logLevel: 'error' });
  await assertLiteTrains(join(root, 'dist'));
  const map = '<script type="importmap">{"imports": {"etude-ml/lite": "./node_modules/etude-ml/dist/lite.js"}}</script>';
  writeFileSync(join(root, 'plain.html'), html(`${map}<script type="module" src="main.js"></script>`));
  await assertLiteTrains(root, 'plain.html');
});

test('a plain module script', async () => {
  const map = '<script type="importmap">{"imports": {"etude-ml": "./node_modules/etude-ml/dist/index.js"}}</script>';
  await assertSiteTrains(newApp({ 'index.html': html(`${map}<script type="module" src="main.js"></script>`) }));
});

/** The output of a program that logs its result. */
function printed(root, file) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], { cwd: root, encoding: 'utf8' });
  assert.deepEqual([status, stderr], [0, '']);
  return stdout.trim();
}
const logs = "trained().then((result) => console.log(result.join()), (error) => console.log(String(error)));";

test('CommonJS: require', () => {
  const root = newApp({ 'main.cjs': `const et = require('etude-ml');\n${trains}\n${logs}` });
  assert.match(printed(root, 'main.cjs'), /threads,2,1$/);
});

for (const format of ['esm', 'cjs'])
  test(`esbuild, for Node.js, as ${format}`, async () => {
    const root = newApp({ 'main.js': `import * as et from 'etude-ml';\n${trains}\n${logs}` });
    const outfile = join(root, 'dist', format === 'cjs' ? 'main.cjs' : 'main.mjs');
    await esbuild.build({ absWorkingDir: root, entryPoints: ['main.js'], bundle: true, platform: 'node', format, outfile, logLevel: 'error' });
    assert.match(printed(root, outfile), /^EtudeError: \[ready\] .* et\.configure\(\{ wasm: url \}\)/);
    if (format === 'esm') {
      copyBuilds(root, dirname(outfile));
      assert.match(printed(root, outfile), /threads,2,1$/);
    }
    const configured = app.replace('await et.ready', "et.configure({ wasm: './node_modules/etude-ml/dist/' });\n  await et.ready").replace(/trained\(\)\.then.*/, logs);
    writeFileSync(join(root, 'main.js'), configured);
    await esbuild.build({ absWorkingDir: root, entryPoints: ['main.js'], bundle: true, platform: 'node', format, outfile, logLevel: 'error' });
    assert.match(printed(root, outfile), /threads,2,1$/);
  });

test('a package with a single build can be bundled', { skip: !process.env.ETUDE_ROOT }, async () => {
  const web = join(process.env.ETUDE_ROOT, 'web');
  const copy = mkdtempSync(join(folder, 'web-'));
  for (const file of ['src', 'build.mjs', 'package.json', 'tsconfig.json']) cpSync(join(web, file), join(copy, file), { recursive: true });
  symlinkSync(join(web, 'node_modules'), join(copy, 'node_modules'));
  execFileSync(process.execPath, ['build.mjs'], { cwd: copy, env: { ...process.env, ETUDE_MODULES: join(process.env.ETUDE_ROOT, 'build/wasm/bindings') } });
  const root = newApp({ 'index.html': html('<script type="module" src="/main.js"></script>') });
  rmSync(join(root, 'node_modules/etude-ml/dist'), { recursive: true });
  cpSync(join(copy, 'dist'), join(root, 'node_modules/etude-ml/dist'), { recursive: true });
  const { build } = await import('vite7');
  await build({ root, configFile: false, logLevel: 'error' });
  const site = await serve(join(root, 'dist'), isolation);
  const { result, complaints } = await resultOf(site.url);
  site.close();
  assert.deepEqual([result, complaints], [['simd', 1, 1], []]);
});
