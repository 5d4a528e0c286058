// node run_cases.mjs FIRST COUNT PROGRAM [ARG…]
//
// Runs the cases FIRST, FIRST + 1, … of a campaign (tests/reliability/cases.hpp) in processes of PROGRAM, one per
// processor at the same time. Each gets a block of 500 cases. If one crashes or hangs, the case is named, and another
// process continues with the next one. Ends after ten failures.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';

const [first, count] = process.argv.slice(2, 4).map(Number);
const [program, ...args] = process.argv.slice(4);
if (!(first >= 0) || !(count > 0) || !program) throw new Error('usage: node run_cases.mjs FIRST COUNT PROGRAM [ARG…]');

const blockSize = 500, secondsPerCase = 120, mostFailures = 10;
const began = Date.now(), end = first + count;
let next = first, done = 0, failures = 0;

function fail(number, what) {
  ++failures;
  console.log(`case ${number}: ${what}`);
}

/** Runs cases in one process until it ends. Resolves to the number of finished cases, including a case that ended it. */
function runProcess(from, wanted) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      env: { ...process.env, ETUDE_CASES_FIRST: String(from), ETUDE_CASES_COUNT: String(wanted) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let current = from, finished = false, hangs = false, timer, errors = '';
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { hangs = true; child.kill('SIGKILL'); }, 1000 * secondsPerCase);
    };
    watch();
    child.stderr.on('data', (text) => { errors = (errors + text).slice(-4000); });
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, word, number, text] = /^(case|wrong|done) (\d+) ?(.*)$/.exec(line) ?? [];
      if (word === 'wrong') fail(number, text);
      if (word === 'done') finished = true;
      if (word !== 'case') return;
      current = Number(number);
      watch();
    });
    child.on('error', reject);
    child.on('close', (status, signal) => {
      clearTimeout(timer);
      if (finished && status === 0) return resolve(wanted);
      fail(current, hangs ? `does not end within ${secondsPerCase} seconds` : `ended with ${signal ?? status}\n${errors}`);
      resolve(current - from + 1);
    });
  });
}

async function work() {
  while (next < end && failures < mostFailures) {
    let from = next;
    const last = next = Math.min(next + blockSize, end);
    while (from < last && failures < mostFailures) {
      const over = await runProcess(from, last - from);
      from += over;
      done += over;
    }
  }
}

const seconds = () => Math.round((Date.now() - began) / 1000);
const progress = setInterval(() => console.error(`  [${done}/${count}], ${seconds()} seconds`), 10_000);
await Promise.all(Array.from({ length: availableParallelism() }, work));
clearInterval(progress);
console.log(`${done} cases in ${seconds()} seconds, ${failures} failed`);
process.exitCode = failures > 0 || done < count ? 1 : 0;
