// Parts of trainings in pages. A page has the files of the disk at one path while it trains, in its IndexedDB.
import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ofBrowser = (file) => import(pathToFileURL(join(process.env.ETUDE_ROOT, 'tests/browser', file)).href);
const { launch, newPage } = await ofBrowser('browser.mjs');
const { isolation, serve } = await ofBrowser('serve.mjs');

/** A browser, and the package's folder `dist` as a site: { train(…words), close() }. */
export async function openBrowser(dist) {
  const site = await serve(dist, isolation), browser = await launch();

  async function emptyPage(context) {
    const page = await newPage(context), address = `${site.url}empty.html`;
    await page.route(address, (route) => route.fulfill({ body: '<!doctype html><link rel="icon" href="data:,">', contentType: 'text/html', headers: isolation }));
    await page.route(`${site.url}training.mjs`, (route) => route.fulfill({ path: join(import.meta.dirname, 'training.mjs'), contentType: 'text/javascript' }));
    await page.goto(address);
    return page;
  }

  return {
    /** The result of train() in a new page, which begins with the files at `path`, and whose files are there afterwards. */
    async train(kind, path, ...numbers) {
      const context = await browser.newContext(), page = await emptyPage(context), name = basename(path);
      const { result, entries } = await page.evaluate(trainInPage, { words: [kind, name, ...numbers], entries: entriesOf(path, name) });
      assert.deepEqual(page.complaints, []);
      await context.close();
      rmSync(path, { recursive: true, force: true });
      for (const entry of entries) write(dirname(path), entry);
      return result;
    },
    async close() {
      await browser.close();
      site.close();
    },
  };
}

/** What is at a path: a file by its name and its bytes as text, a folder by its name and null, with what is in it. */
function entriesOf(path, name) {
  if (!existsSync(path)) return [];
  if (!lstatSync(path).isDirectory()) return [[name, readFileSync(path).toString('base64')]];
  return [[name, null], ...readdirSync(path).flatMap((each) => entriesOf(join(path, each), `${name}/${each}`))];
}

function write(folder, [name, text]) {
  const path = join(folder, name);
  mkdirSync(text === null ? path : dirname(path), { recursive: true });
  if (text !== null) writeFileSync(path, Buffer.from(text, 'base64'));
}

/** Runs in a page: keeps the entries in the database of its files, trains, and returns the result and the entries. */
async function trainInPage({ words, entries }) {
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const inDatabase = async (mode, work) => {
    const opening = indexedDB.open('etude: continuity', 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore('files');
    const database = await done(opening), result = await work(database.transaction('files', mode).objectStore('files'));
    database.close();
    return result;
  };
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const textOf = (bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));

  await inDatabase('readwrite', (files) => Promise.all(entries.map(([name, text]) => done(files.put(text === null ? 'folder' : bytesOf(text), name)))));
  const et = await import('/index.js'), { train } = await import('/training.mjs');
  const files = await et.openFiles('continuity');
  await et.ready({ parts: ['formats', 'archives'] });
  const result = { ...(await train(et, ...words)), variant: et.variant };
  await files.close();
  const [names, contents] = await inDatabase('readonly', (files) => Promise.all([done(files.getAllKeys()), done(files.getAll())]));
  return { result, entries: names.map((name, i) => [name, contents[i] === 'folder' ? null : textOf(contents[i])]) };
}
