// Trainings that move between C++, Node.js and a page; `./dev test continuity` runs it.
//
//   ETUDE_CONTINUITY=PROGRAM ETUDE_ROOT=FOLDER node --test continuity.mjs
//
// PROGRAM is the binary etude_continuity, FOLDER the project's, whose tests/browser has Playwright. A training that is
// interrupted, or saved, in one place and continues in another must give the losses of a training that does not move, within
// rounding. A page and Node.js run the same build, and give the same bits.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openBrowser } from './page.mjs';

const folder = mkdtempSync(join(tmpdir(), 'etude-continuity-'));
let browser;
before(async () => (browser = await openBrowser(join(import.meta.dirname, 'node_modules/etude-ml/dist'))));
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true });
});

const programs = {
  native: [process.env.ETUDE_CONTINUITY],
  node: [process.execPath, join(import.meta.dirname, 'train.mjs')],
};
/** The result of a part of a training in one place: native, node or page. */
async function run(place, ...words) {
  if (place === 'page') return browser.train(...words);
  const [program, ...first] = programs[place];
  return JSON.parse(execFileSync(program, [...first, ...words.map(String)], { encoding: 'utf8' }));
}

/** Trains two epochs in each of the places, by a model that is saved at `path`. */
async function train(path, places) {
  const parts = [];
  for (const [i, place] of places.entries()) parts.push(await run(place, 'train', path, 2 * i, 2 * i + 2));
  return { loss: parts.flatMap((part) => part.loss), accuracy: parts.flatMap((part) => part.accuracy) };
}

function assertSame(moved, whole) {
  for (const name of ['loss', 'accuracy']) {
    assert.equal(moved[name].length, whole[name].length);
    moved[name].forEach((value, i) => assert.ok(Math.abs(value - whole[name][i]) < 1e-5, `${name} ${moved[name]} is not ${whole[name]}`));
  }
}

const routes = [['native', 'node', 'native'], ['node', 'native', 'node'], ['page', 'node', 'native'], ['native', 'node', 'page']];
for (const places of routes) {
  const route = places.join(', then ');

  test(`a fit that is interrupted continues from its backup: ${route}`, async () => {
    const backup = join(folder, `backup ${places.join(' ')}`);
    const whole = await run(places[0], 'resume', join(folder, 'whole'));
    assert.equal(whole.batches, 24);
    const [first, second, third] = places;
    assert.equal((await run(first, 'resume', backup, 9)).batches, 10); // saved after 8 batches
    assert.ok(existsSync(backup));
    assert.equal((await run(second, 'resume', backup, 7)).batches, 8); // saved after 14
    const moved = await run(third, 'resume', backup);
    assert.equal(moved.batches, 10);
    assertSame(moved, whole);
    assert.ok(!existsSync(backup), 'the backup is left behind');
  });

  for (const name of ['model', 'm.keras'])
    test(`a saved model continues from ${name}: ${route}`, async () => {
      const [moving, staying] = ['moving', 'staying'].map((kind) => join(folder, `${places.join(' ')} ${kind} ${name}`));
      assertSame(await train(moving, places), await train(staying, places.map(() => places[0])));
    });
}

test('a page and Node.js run the same build with the same bits, and so does a training that moves between them', async () => {
  const backups = ['page', 'node'].map((place) => join(folder, `bits ${place}`));
  const [inPage, inNode] = [await run('page', 'resume', backups[0]), await run('node', 'resume', backups[1])];
  assert.deepEqual(inPage, inNode); // the build, too
  await run('page', 'resume', backups[0], 9);
  await run('node', 'resume', backups[0], 7);
  const { loss, accuracy } = await run('page', 'resume', backups[0]);
  assert.deepEqual({ loss, accuracy }, { loss: inPage.loss, accuracy: inPage.accuracy });
  for (const name of ['model', 'm.keras']) {
    const whole = await train(join(folder, `bits whole ${name}`), ['page', 'page', 'page']);
    for (const places of [['node', 'node', 'node'], ['page', 'node', 'page']])
      assert.deepEqual(await train(join(folder, `bits ${places.join(' ')} ${name}`), places), whole);
  }
});
