// Trainings that move between C++ and Node.js; `./dev test continuity` runs it.
//
//   ETUDE_CONTINUITY=PROGRAM node --test continuity.mjs
//
// PROGRAM is the binary etude_continuity. A training that is interrupted, or saved, in one language and continues in the
// other must give the losses of a training that does not move, within rounding.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';

const folder = mkdtempSync(join(tmpdir(), 'etude-continuity-'));
after(() => rmSync(folder, { recursive: true }));

const programs = {
  native: [process.env.ETUDE_CONTINUITY],
  node: [process.execPath, join(import.meta.dirname, 'train.mjs')],
};
function run(language, ...words) {
  const [program, ...first] = programs[language];
  return JSON.parse(execFileSync(program, [...first, ...words.map(String)], { encoding: 'utf8' }));
}

function assertSame(moved, whole) {
  for (const name of ['loss', 'accuracy']) {
    assert.equal(moved[name].length, whole[name].length);
    moved[name].forEach((value, i) => assert.ok(Math.abs(value - whole[name][i]) < 1e-5, `${name} ${moved[name]} is not ${whole[name]}`));
  }
}

const routes = [['native', 'node', 'native'], ['node', 'native', 'node']];
for (const languages of routes) {
  test(`a fit that is interrupted continues from its backup: ${languages.join(', then ')}`, () => {
    const backup = join(folder, `backup ${languages[0]}`);
    const whole = run(languages[0], 'resume', join(folder, 'whole'));
    assert.equal(whole.batches, 24);
    const [first, second, third] = languages;
    assert.equal(run(first, 'resume', backup, 9).batches, 10); // saved after 8 batches
    assert.ok(existsSync(backup));
    assert.equal(run(second, 'resume', backup, 7).batches, 8); // saved after 14
    const moved = run(third, 'resume', backup);
    assert.equal(moved.batches, 10);
    assertSame(moved, whole);
    assert.ok(!existsSync(backup), 'the backup is left behind');
  });

  for (const name of ['model', 'm.keras'])
    test(`a saved model continues from ${name}: ${languages.join(', then ')}`, () => {
      const [moving, staying] = ['moving', 'staying'].map((kind) => join(folder, `${languages[0]} ${kind} ${name}`));
      const train = (path, of) => {
        const parts = of.map((language, i) => run(language, 'train', path, 2 * i, 2 * i + 2));
        return { loss: parts.flatMap((part) => part.loss), accuracy: parts.flatMap((part) => part.accuracy) };
      };
      assertSame(train(moving, languages), train(staying, languages.map(() => languages[0])));
    });
}
