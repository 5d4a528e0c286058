// Checks that the READMEs contain the part of each demo between its two lines `// README`.
import { readFileSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const read = (file) => readFileSync(new URL(file, root), 'utf8');
const shownIn = {
  'demo/native/fashion_mnist.cpp': ['README.md'],
  'demo/node/fashion_mnist.mjs': ['README.md', 'web/README.md'],
};

for (const [demo, readmes] of Object.entries(shownIn)) {
  const [, shown, ...rest] = read(demo).split(/^ *\/\/ README\n/m);
  for (const readme of readmes) {
    if (rest.length === 1 && read(readme).includes(shown.trim())) continue;
    console.error(`${readme} does not show what stands between the marks of ${demo} - copy it there`);
    process.exitCode = 1;
  }
}
