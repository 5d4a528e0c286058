// node tests/check_cubins.mjs [--write] LIBRARY  reads the code that ptxas generated for our kernels from
// libetude_cuda.so, by cuobjdump: no kernel may have a stack frame or local memory, and those of
// tests/cuda/resources.json may not have more registers or less occupancy than listed there (--write: rewrites the list
// from this library). Then ptxas compiles its PTX for newer GPUs, where spilled registers are errors too. Without
// cuobjdump or ptxas it prints what it skipped.
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const newer = ['sm_100', 'sm_120'];
const table = new URL('cuda/resources.json', import.meta.url);
const library = resolve(process.argv.at(-1));
const run = (command, args, options = {}) =>
  execFileSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['pipe', 'pipe', 'pipe'], ...options });
const has = (command) => spawnSync(command, ['--version']).status === 0;
const complaints = [];

// The resources of a multiprocessor, by compute capability. Source: the CUDA C++ programming guide, "Compute
// capabilities".
const multiprocessors = {
  sm_80: { registers: 65536, warps: 64, blocks: 32, shared: 164 * 1024 },
  sm_90: { registers: 65536, warps: 64, blocks: 32, shared: 228 * 1024 },
};

/** The fraction of a multiprocessor's warps that can be resident at a time. */
function occupancy({ arch, registers, shared, threads }) {
  const has = multiprocessors[arch];
  const warps = Math.ceil(threads / 32);
  const registersOfWarp = Math.ceil(registers / 8) * 8 * 32; // allocated in units of 256
  const blocks = Math.min(
    has.blocks,
    Math.floor(has.warps / warps),
    Math.floor(Math.floor(has.registers / registersOfWarp) / warps),
    Math.floor(has.shared / (shared + 1024)), // each block needs another 1 kB
  );
  return (blocks * warps) / has.warps;
}

/** "Product", or "Product in float64": the name of kernels, for any other template arguments. */
function familyOf(demangled) {
  const inner = demangled.replace(/^void etude::cuda::enter(?:_alone)?<(etude::cuda::EachElement<)?/, '').replaceAll('(anonymous namespace)', '_');
  const name = /^(?:\w+::)*(\w+)/.exec(inner)[1];
  return name + (inner.includes('double') ? ' in float64' : '');
}

/** Runs work in an empty folder, for the files that cuobjdump extracts. */
async function withPtx(work) {
  const folder = mkdtempSync(join(tmpdir(), 'etude-ptx'));
  try {
    run('cuobjdump', ['-xptx', 'all', library], { cwd: folder });
    await work(readdirSync(folder).map((name) => join(folder, name)));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Threads of a block, by the kernel's mangled name. */
function threadsByKernel(files) {
  const found = new Map();
  for (const file of files)
    for (const [, name, threads] of readFileSync(file, 'utf8').matchAll(/\.entry (\w+)\([^)]*\)\s*\.maxntid (\d+)/g)) found.set(name, +threads);
  return found;
}

function kernels(files) {
  const threads = threadsByKernel(files);
  const found = [];
  let arch;
  for (const line of run('cuobjdump', ['-res-usage', library]).split('\n')) {
    arch = /^arch = (\w+)/.exec(line)?.[1] ?? arch;
    const name = /^ Function (\w+):/.exec(line)?.[1];
    if (name) found.push({ arch, name, threads: threads.get(name) });
    const numbers = /REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)/.exec(line);
    if (numbers) Object.assign(found.at(-1), { registers: +numbers[1], stack: +numbers[2], shared: +numbers[3], local: +numbers[4] });
  }
  const names = run('c++filt', [], { input: found.map((kernel) => kernel.name).join('\n') }).trim().split('\n');
  found.forEach((kernel, i) => (kernel.family = familyOf(names[i])));
  return found;
}

/** The most registers and the least occupancy of each family, over all its kernels and GPUs. */
function resourcesOf(found) {
  const families = {};
  for (const kernel of found) {
    const family = (families[kernel.family] ??= { registers: 0, occupancy: 1 });
    family.registers = Math.max(family.registers, kernel.registers);
    family.occupancy = Math.min(family.occupancy, occupancy(kernel));
  }
  return Object.fromEntries(Object.entries(families).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function checkResources(found) {
  for (const { arch, name, stack, local, threads } of found) {
    if (stack || local) complaints.push(`${name}, ${arch}: a stack frame of ${stack} bytes and ${local} of local memory - expected none`);
    if (!threads) complaints.push(`${name}: no .maxntid in its PTX - expected __launch_bounds__`);
  }
  const own = resourcesOf(found);
  if (process.argv[2] === '--write') {
    const rows = Object.entries(own).map(([family, row]) => `  ${JSON.stringify(family)}: ${JSON.stringify(row).replaceAll(/([:,{}])(?=.)/g, '$1 ').replace(/}$/, ' }')}`);
    writeFileSync(table, `{\n${rows.join(',\n')}\n}\n`);
  }
  const listed = JSON.parse(readFileSync(table, 'utf8'));
  for (const family of Object.keys(own))
    if (!listed[family]) complaints.push(`${family}: not in resources.json - expected a row for each kernel - write it anew with --write`);
  for (const [family, wanted] of Object.entries(listed)) {
    const is = own[family];
    if (!is) complaints.push(`${family}: no such kernel in the library - expected those of resources.json - write it anew with --write`);
    else if (is.registers > wanted.registers) complaints.push(`${family}: ${is.registers} registers - expected at most ${wanted.registers}`);
    else if (is.occupancy < wanted.occupancy) complaints.push(`${family}: an occupancy of ${is.occupancy} - expected at least ${wanted.occupancy}`);
  }
  console.log(`resources of ${found.length} kernels: ${Object.keys(own).length} families`);
}

/** Compiles PTX for a newer GPU, where spilled registers are errors. */
async function compileFor(arch, file) {
  const options = [`-arch=${arch}`, '-O3', '--warn-on-spills', '--warn-on-local-memory-usage', '-Werror', '-o', '/dev/null', file];
  await promisify(execFile)('ptxas', options).catch(({ stderr }) => complaints.push(`ptxas -arch=${arch} of the library's PTX: ${stderr.trim()}`));
}

async function checkNewer(files) {
  if (!has('ptxas')) return console.log(`skipped: the PTX for ${newer.join(' and ')} - ptxas is not installed`);
  const full = files.filter((file) => readFileSync(file, 'utf8').includes('.entry'));
  const left = newer.flatMap((arch) => full.map((file) => [arch, file]));
  const compileNext = async () => {
    for (let next = left.pop(); next; next = left.pop()) await compileFor(...next);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, compileNext));
  console.log(`PTX of ${full.length} files for ${newer.join(' and ')}`);
}

if (!has('cuobjdump')) {
  console.log('skipped: what registers and memory kernels take - cuobjdump is not installed');
} else {
  await withPtx(async (files) => {
    checkResources(kernels(files));
    await checkNewer(files);
  });
  for (const complaint of complaints) console.error(complaint);
  process.exitCode = complaints.length ? 1 : 0;
}
