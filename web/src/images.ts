/** Images in files: et.utils.loadImg and et.utils.imageDatasetFromDirectory. */
import { checkOptions, describe, fail } from './error.js';
import type { Dataset } from './etude.mjs';
import { hostFiles, module, ready } from './module.js';
import { inNode, optionalPackage, readFile } from './node.js';
import type * as options from './options.mjs';
import { Tensor } from './tensor.js';

/**
 * A decoded image: uint8 [height, width, channels], or an object such as an ImageData. The bytes of a pixel are gray; gray
 * and alpha; red, green, blue; or these and alpha.
 */
export type DecodedImage = Tensor | { readonly data: Uint8Array | Uint8ClampedArray; readonly width: number; readonly height: number };
/** Decodes the bytes of a file, possibly later. */
export type DecodeImage = (bytes: Uint8Array, path: string) => DecodedImage | Promise<DecodedImage>;

/** Options of loadImg. */
export interface LoadImgOptions extends options.LoadImgOptions {
  /** Decodes the file. Default: the package sharp, in Node.js. */
  decode?: DecodeImage | undefined;
}

/** Options of imageDatasetFromDirectory. */
export interface ImageDatasetOptions extends Omit<options.ImageDatasetOptions, 'labels'> {
  /** 'inferred', the numbers of the folders; the label of each file, in the order of their paths; or null: none. */
  labels?: 'inferred' | readonly number[] | null | undefined;
  /** Decodes each file. Default: the package sharp, in Node.js. */
  decode?: DecodeImage | undefined;
}

/** A Dataset of images and labels. */
export type ImageDataset = Dataset & {
  /** The names of the classes, by their numbers; none without labels. */
  classNames: string[];
  /** The files: in the order of the elements, unless they are shuffled. */
  filePaths: string[];
};

/** The part of sharp that is used here. */
interface Sharp {
  toColourspace(name: string): Sharp;
  raw(options: { depth: string }): Sharp;
  toBuffer(options: { resolveWithObject: true }): Promise<{ data: Uint8Array; info: { width: number; height: number } }>;
}
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n')[0];

async function decoderOf(where: string): Promise<DecodeImage> {
  if (!inNode) fail('state', where, 'images in a page - expected a function that decodes them - pass the option decode.');
  const loaded = await optionalPackage('sharp').catch((error: unknown) =>
    fail('state', where, `no package "sharp" (${messageOf(error)}) - expected it, because Node.js decodes no images - run "npm install sharp", or pass the option decode.`),
  );
  const sharp = (loaded as { default: (bytes: Uint8Array, options: { limitInputPixels: number }) => Sharp }).default;
  return async (bytes, path) => {
    try {
      const image = sharp(bytes, { limitInputPixels: 2 ** 27 }).toColourspace('srgb').raw({ depth: 'uchar' });
      const { data, info } = await image.toBuffer({ resolveWithObject: true });
      return { data, width: info.width, height: info.height };
    } catch (error) {
      fail('data', path, `no image that sharp reads (${messageOf(error)}) - expected an intact one - get the file again, or convert it.`);
    }
  };
}

async function bytesOf(path: string, where: string): Promise<Uint8Array> {
  const unreadable = (error: unknown) => fail('io', where, `cannot read "${String(path)}": ${messageOf(error)} - expected a file - check the path.`);
  if (inNode) return readFile(path).catch(unreadable);
  const files = hostFiles() ?? fail('io', where, 'no file system is available - expected files that openFiles opened - call openFiles first.');
  try {
    return files.read(path);
  } catch (error) {
    return unreadable(error);
  }
}

async function pixelsOf(path: string, decode: DecodeImage, where: string): Promise<Tensor> {
  const decoded = await decode(await bytesOf(path, where), path);
  if (decoded instanceof Tensor) return decoded;
  const { data, width, height } = Object(decoded) as { data: unknown; width: number; height: number };
  const channels = data instanceof Uint8Array || data instanceof Uint8ClampedArray ? data.length / (width * height) : 0;
  if (!Number.isInteger(channels) || channels < 1)
    fail('data', where, `${describe(decoded)} as the result of decode - expected a Tensor, or data, width and height - return these for "${path}".`);
  const { buffer, byteOffset, length } = data as Uint8Array;
  return new Tensor(new Uint8Array(buffer, byteOffset, length), [height, width, channels]);
}

/**
 * The image in a file: float32 [height, width, channels], from 0 to 255. In Node.js the package sharp decodes it, which
 * you install; elsewhere, or for other formats, pass a function `decode`.
 */
export async function loadImg(path: string, options?: LoadImgOptions): Promise<Tensor> {
  const where = 'utils.loadImg', { decode, ...others } = checkOptions(options, where);
  const pixels = await pixelsOf(path, decode ?? (await decoderOf(where)), where);
  await ready({ parts: ['data'] });
  return module.utils_loadImg(pixels, others);
}

/**
 * The images below a folder that has a folder for each class: x is float32 [batch, height, width, channels], from 0 to 255.
 * A file is read when its batch is made. In Node.js the package sharp decodes it, which you install; elsewhere, or for
 * other formats, pass a function `decode`. The subset 'both' gives two datasets.
 */
export function imageDatasetFromDirectory(directory: string, options: ImageDatasetOptions & { subset: 'both' }): [ImageDataset, ImageDataset];
export function imageDatasetFromDirectory(directory: string, options?: ImageDatasetOptions): ImageDataset;
export function imageDatasetFromDirectory(directory: string, options?: ImageDatasetOptions): ImageDataset | [ImageDataset, ImageDataset] {
  const where = 'utils.imageDatasetFromDirectory', { decode, labels, ...others } = checkOptions(options, where);
  let decoder: Promise<DecodeImage> | undefined;
  const read = async (path: string) => pixelsOf(path, decode ?? (await (decoder ??= decoderOf(where))), where);
  const given = labels === null ? { ...others, labelMode: null } : Array.isArray(labels) ? { ...others, labels: [...(labels as number[])] } : others;
  if (typeof labels === 'string' && labels !== 'inferred') fail('value', where, `labels: ${describe(labels)} - expected 'inferred', an array of numbers or null - choose one.`);
  const [first, second] = module.utils_imageDatasetFromDirectory(directory, given, read) as [ImageDataset, ImageDataset?];
  return second ? [first, second] : first;
}
