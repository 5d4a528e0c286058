// Runs the benchmark: every target of every workload in alternating rounds, so that other work on the machine affects
// all alike. Prints tables; --json writes the lines, --markdown the tables. `./dev bench` calls it.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { definitions } from './definition.mjs';
import { disagreements, markdownTable, summarise, textTable } from './report.mjs';
import { measure, measurePeak, ownWorkloads, targets } from './targets.mjs';

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    peers: { type: 'boolean', default: false },
    target: { type: 'string', multiple: true },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    json: { type: 'string' },
    markdown: { type: 'string' },
    presets: { type: 'boolean', default: false },
  },
});

const fail = (message) => {
  console.error(`bench: ${message}`);
  process.exit(1);
};

function mustKnow(kind, names, known) {
  for (const name of names) if (!known.includes(name)) fail(`no ${kind} "${name}" - expected ${known.join(', ')} - choose among them.`);
}

const chosen = options.target ?? Object.keys(targets).filter((name) => options.peers || ['native', 'wasm'].includes(name));
mustKnow('target', chosen, Object.keys(targets));
mustKnow('workload', positionals, Object.keys(definitions));

if (options.presets) {
  const presets = new Set(['release', ...chosen.map((name) => targets[name].preset).filter(Boolean)]);
  console.log([...presets].join('\n'));
  process.exit(0);
}

const missing = chosen.map((name) => [name, targets[name].missing?.()]).filter(([, what]) => what);
if (missing.length) fail(`a peer is missing: ${missing.map(([name, what]) => `${name} needs the ${what}`).join('; ')}.`);

const own = ownWorkloads();
const names = positionals.length ? positionals : Object.keys(definitions).filter((name) => options.peers || own.includes(name));
const complaints = [];
const tables = [];
const peak = measurePeak();
if (options.json) writeFileSync(options.json, '');

for (const name of names) {
  const lines = [];
  for (let seed = 1; seed <= Number(options.rounds); ++seed) {
    for (const target of chosen.filter((target) => targets[target].workloads.includes(name) && (targets[target].peer || own.includes(name)))) {
      if (lines.some((line) => line.target === target && (line.cannot || line.failed))) continue;
      const line = measure(target, name, { seed, seconds: options.seconds });
      lines.push(line);
      if (options.json) appendFileSync(options.json, `${JSON.stringify(line)}\n`);
    }
  }
  const summaries = summarise(lines);
  console.log(textTable(name, summaries, peak));
  tables.push(markdownTable(name, summaries, peak));
  complaints.push(...disagreements(name, summaries));
  for (const { target, failed, cannot } of summaries)
    if (failed || (cannot && !targets[target].cannot?.includes(name))) complaints.push(`${target} did not run ${name}: ${failed ?? cannot}`);
}

if (options.markdown) writeFileSync(options.markdown, document(tables) + measuredApart(options.markdown));
for (const complaint of complaints) console.error(`bench: ${complaint}`);
process.exitCode = complaints.length ? 1 : 0;

function document(tables) {
  const date = new Date().toISOString().slice(0, 10);
  const peers = [...new Set(chosen.map((name) => targets[name].version?.()).filter(Boolean))];
  return `# A run of the benchmark, ${date}

${cpus()[0].model}, ${cpus().length} cores; Node.js ${process.version}${peers.map((peer) => `, ${peer}`).join('')}. \`./dev bench ${process.argv.slice(2).join(' ')}\`.

Times are CPU milliseconds per step on one thread, and milliseconds on the wall on two: medians of ${options.rounds} rounds in which
all targets took turns. Predictions are of all images at once. The floor is what one core needs at its measured peak. "/ native"
and "/ wasm" say how many times longer than Étude's own builds a target takes; the gain of two threads is that of the 10th
percentiles. Losses are means over the epoch's steps so far, after the steps in parentheses, over all rounds' seeds.
${tables.join('\n')}
`;
}

/** The last section of the rewritten file: values that are not part of a run. */
function measuredApart(path) {
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  const at = text.indexOf('\n## Measured apart\n');
  return at < 0 ? '' : text.slice(at);
}
