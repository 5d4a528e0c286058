// Copies Fashion-MNIST to a folder of the page: from $ETUDE_FASHION_MNIST, or from the folder of Debian's package.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const from = process.env.ETUDE_FASHION_MNIST || '/usr/share/datasets/fashion-mnist';
const to = new URL('../public/fashion-mnist/', import.meta.url);

mkdirSync(to, { recursive: true });
for (const part of ['train-images-idx3', 'train-labels-idx1', 't10k-images-idx3', 't10k-labels-idx1']) {
  const name = `${part}-ubyte`;
  const target = new URL(`${name}.gz`, to);
  if (existsSync(target)) continue;
  if (existsSync(`${from}/${name}.gz`)) copyFileSync(`${from}/${name}.gz`, target);
  else if (existsSync(`${from}/${name}`)) writeFileSync(target, gzipSync(readFileSync(`${from}/${name}`)));
  else throw new Error(`[data] no ${name}.gz in ${from} - expected the four files of Fashion-MNIST - install dataset-fashion-mnist, or set ETUDE_FASHION_MNIST=FOLDER.`);
}
