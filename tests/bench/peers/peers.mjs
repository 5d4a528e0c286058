#!/usr/bin/env node
// Trains the benchmark's workloads with its JavaScript peers; prints one JSON line per peer and workload.
import { spawnSync } from 'node:child_process';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { UsageError, workloads } from './workloads.mjs';

const help = `Usage: node peers.mjs [mlp] [tiny] [--target NAME]… [--json FILE] [--data FOLDER] [--quick]

  mlp tiny        workloads to train; both when none is named
  --target NAME   tfjs-wasm, tfjs-cpu or jax-js-wasm; all when none is named
  --json FILE     write the lines to FILE too
  --data FOLDER   Fashion-MNIST's IDX .gz files (default /usr/share/datasets/fashion-mnist)
  --quick         a few steps only: does it run? The numbers mean nothing then`;

// Steps are chosen so that no run takes more than about ten seconds on a slow core; warm-up covers JIT and first shapes.
const targets = {
  'tfjs-wasm': {
    packages: ['@tensorflow/tfjs-core', '@tensorflow/tfjs-layers', '@tensorflow/tfjs-backend-wasm'],
    run: async (...job) => (await import('./tfjs.mjs')).run('wasm', ...job),
    plan: { mlp: { warmup: 5, steps: 60 }, tiny: { warmup: 320, steps: 1600 } },
  },
  'tfjs-cpu': {
    packages: ['@tensorflow/tfjs-core', '@tensorflow/tfjs-layers', '@tensorflow/tfjs-backend-cpu'],
    run: async (...job) => (await import('./tfjs.mjs')).run('cpu', ...job),
    plan: { mlp: { warmup: 2, steps: 10 }, tiny: { warmup: 320, steps: 1600 } },
  },
  'jax-js-wasm': {
    packages: ['@jax-js/jax'],
    run: async (...job) => (await import('./jax_js.mjs')).run(...job),
    plan: { mlp: { warmup: 20, steps: 400 }, tiny: { warmup: 320, steps: 4800 } },
  },
};

const { values: options, positionals } = readCommandLine();

function readCommandLine() {
  try {
    const parsed = parseArgs({
      allowPositionals: true,
      options: {
        target: { type: 'string', multiple: true, default: Object.keys(targets) },
        json: { type: 'string' },
        data: { type: 'string', default: '/usr/share/datasets/fashion-mnist' },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
        inside: { type: 'boolean', default: false },
      },
    });
    mustKnow('workload', parsed.positionals, workloads);
    mustKnow('target', parsed.values.target, targets);
    return parsed;
  } catch (error) {
    console.error(`${error.message}\n\n${help}`);
    process.exit(2);
  }
}

function mustKnow(kind, names, table) {
  for (const name of names) {
    if (!Object.hasOwn(table, name)) throw new UsageError(`[peers] unknown ${kind} "${name}" - expected ${Object.keys(table).join(' or ')}.`);
  }
}

function mustBeInstalled(target) {
  const require = createRequire(import.meta.url);
  for (const name of targets[target].packages) {
    try {
      require.resolve(name);
    } catch {
      throw new UsageError(`[peers] ${target} needs the npm package ${name}, which is not installed - run "npm ci" in ${fileURLToPath(new URL('.', import.meta.url))}.`);
    }
  }
}

/** Trains one workload in this process and prints its line. */
async function train(target, name) {
  mustBeInstalled(target);
  const workload = workloads[name];
  const plan = options.quick ? { warmup: 2, steps: 3 } : targets[target].plan[name];
  const { version, final_loss, ...measured } = await targets[target].run(name, workload, { folder: options.data, ...plan });
  console.log(JSON.stringify({ target, workload: name, threads: 1, batch: workload.batch, ...measured, allocations_per_step: null, final_loss, steps: plan.steps, version }));
}

/** Each pair gets a process of its own: what V8 learned about one backend must not slow the next. */
function trainApart(target, name) {
  // Relaxed SIMD is behind a flag in Node 20; jax-js uses it where it exists.
  const flags = Number(process.versions.node.split('.')[0]) < 22 ? ['--experimental-wasm-relaxed-simd'] : [];
  const self = fileURLToPath(import.meta.url);
  const child = spawnSync(process.execPath, [...flags, self, name, '--inside', '--target', target, '--data', options.data, ...(options.quick ? ['--quick'] : [])], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const line = child.stdout.split('\n').find((l) => l.startsWith('{"target"'));
  if (child.status === 0 && line) return line;
  console.error(child.stderr.trim() || `[peers] ${target} ${name} ended with status ${child.status ?? child.signal}`);
  return null;
}

if (options.help) {
  console.log(help);
} else if (options.inside) {
  await train(options.target[0], positionals[0]).catch((error) => {
    console.error(error instanceof UsageError ? error.message : error);
    process.exit(1);
  });
} else {
  if (options.json) writeFileSync(options.json, '');
  for (const name of positionals.length ? positionals : Object.keys(workloads)) {
    for (const target of options.target) {
      const line = trainApart(target, name);
      if (!line) process.exitCode = 1;
      else {
        console.log(line);
        if (options.json) appendFileSync(options.json, `${line}\n`);
      }
    }
  }
}
