// The module's access to Node.js's files. Checkpoints rely on these guarantees.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';

// Not exported: only the module uses it.
const inner = new URL('./node_modules/etude-ml/dist/system_files.js', import.meta.url);
const files = (await import(inner)).systemFiles(fs);

const folder = mkdtempSync(join(tmpdir(), 'etude-files-'));
after(() => rmSync(folder, { recursive: true }));
const bytes = (text) => new TextEncoder().encode(text);

/** A process that locks `path`, reports it, and runs until it is killed. */
async function locking(path) {
  const program = `const { systemFiles } = await import(${JSON.stringify(inner.href)});
    console.log(systemFiles(await import('node:fs')).lock(${JSON.stringify(path)}) ? 'locked' : 'refused'); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(String(text).trim())));
  const kill = () =>
    new Promise((resolve) => {
      child.once('exit', resolve);
      child.kill('SIGKILL');
    });
  return { said, kill };
}

test('files are written in pieces, synced, read whole, appended to and renamed', () => {
  const path = join(folder, 'a');
  const file = files.open(path, false);
  assert.equal(file.empty, true);
  for (const piece of ['one ', 'two']) file.append(bytes(piece));
  file.sync();
  file.close();
  assert.equal(String(Buffer.from(files.read(path))), 'one two');
  const more = files.open(path, true);
  assert.equal(more.empty, false);
  more.append(bytes('!'));
  more.close();
  assert.equal(files.size(path), 8);
  assert.equal(String(Buffer.from(files.readAt(path, 2, 4))), 'e tw');
  assert.equal(String(Buffer.from(files.readAt(path, 5, 9))), 'wo!');
  files.rename(path, join(folder, 'b'));
  files.syncFolder(folder);
  assert.deepEqual(files.list(folder), ['b']);
  files.remove(join(folder, 'b'));
  assert.deepEqual(files.list(folder), []);
  assert.throws(() => files.read(path), /ENOENT/);
});

test('folders are created once, listed in order, and removed if empty; a link is a file', () => {
  const inside = join(folder, 'made');
  files.makeFolder(inside);
  files.makeFolder(inside);
  for (const name of ['c', 'a']) writeFileSync(join(inside, name), '');
  symlinkSync(folder, join(inside, 'b'));
  assert.deepEqual(files.list(inside), ['a', 'b', 'c']);
  assert.deepEqual(['a', 'b', 'none'].map((name) => files.kind(join(inside, name))), ['file', 'file', 'none']);
  assert.equal(files.kind(inside), 'folder');
  assert.throws(() => files.remove(inside), /ENOTEMPTY/);
  for (const name of ['a', 'b', 'c']) files.remove(join(inside, name));
  files.remove(inside);
  assert.equal(existsSync(inside), false);
  assert.equal(existsSync(folder), true);
});

test('a lock that is released while it is asked for is free', async () => {
  const { systemFiles } = await import(inner);
  for (const name of ['realpathSync', 'readFileSync', 'renameSync']) {
    const path = join(folder, name);
    writeFileSync(path, '4194305'); // no process has this number
    let released = false;
    const release = systemFiles({
      ...fs,
      [name](...given) {
        if (!released) rmSync(path);
        released = true;
        return fs[name](...given);
      },
    }).lock(path);
    assert.ok(released && release, name);
    release();
  }
  const link = join(folder, 'link');
  symlinkSync(join(folder, 'nothing'), link);
  assert.throws(() => systemFiles(fs).lock(link), { code: 'ENOENT' });
  rmSync(link);
});

test('a lock is refused while this or another process holds it, and free after a release or a kill', async () => {
  const path = join(folder, 'LOCK');
  const release = files.lock(path);
  assert.equal(readFileSync(path, 'utf8'), `${process.pid}`);
  assert.equal(files.lock(path), undefined);
  assert.equal(files.lock(join(folder, '..', basename(folder), 'LOCK')), undefined);
  const refused = await locking(path);
  assert.equal(refused.said, 'refused');
  await refused.kill();
  release();

  const other = await locking(path);
  assert.equal(other.said, 'locked');
  assert.equal(files.lock(path), undefined);
  await other.kill();
  const again = files.lock(path);
  assert.ok(again);
  again();

  writeFileSync(path, `${process.ppid} native`); // as a native process does, which empties the file at its end
  assert.equal(files.lock(path), undefined);
  writeFileSync(path, '');
  files.lock(path)();
  assert.deepEqual(readdirSync(folder), []);
});
