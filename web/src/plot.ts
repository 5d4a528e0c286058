/** Pictures of models. */
import { checkOptions, fail } from './error.js';
import type { Model } from './model.js';
import { modelToDot } from './models.js';
import { ready } from './module.js';
import { inNode, nodeFs, optionalPackage } from './node.js';
import type * as options from './options.mjs';

/** The part of @viz-js/viz that is used here. */
export interface Viz {
  renderString(dot: string, options: { format: string }): string;
}

/** Options of plotModel. */
export interface PlotModelOptions extends options.ModelToDotOptions {
  /** A file .svg, .dot or .gv that is written, in Node.js. Default: none. */
  toFile?: string | undefined;
  /** The result of `instance()` of the package @viz-js/viz. Default: that of the installed package, in Node.js. */
  viz?: Viz | undefined;
}

const where = 'plotModel';

async function installedViz(): Promise<Viz> {
  if (!inNode) fail('state', where, 'no viz in a page - expected the library that draws the graph - import { instance } from "@viz-js/viz", and pass the option viz: await instance().');
  const loaded = await optionalPackage('@viz-js/viz').catch((error: Error) =>
    fail('state', where, `no package "@viz-js/viz" (${error.message.split('\n')[0]}) - expected it, because it draws the graph - run "npm install @viz-js/viz".`),
  );
  return (loaded as { instance(): Promise<Viz> }).instance();
}

/**
 * Draws a model, by Graphviz in the package @viz-js/viz, which you install. Returns the SVG, and writes it to `toFile`. For
 * a file .dot or .gv both are the text of modelToDot. Names of layers are shown only on request.
 */
export async function plotModel(model: Model, options?: PlotModelOptions): Promise<string> {
  const { toFile, viz, ...others } = checkOptions(options, where);
  const format = toFile === undefined ? 'svg' : /\.(svg|dot|gv)$/i.exec(toFile)?.[1]?.toLowerCase();
  if (!format) fail('value', where, `toFile: "${toFile}" - expected a file .svg, .dot or .gv - choose one of these; Graphviz converts .dot to other formats.`);
  if (toFile !== undefined && !inNode) fail('io', where, 'toFile in a page - expected Node.js - leave toFile out, and use the text that is returned.');
  await ready({ parts: ['saving'] });
  const dot = modelToDot(model, { ...others, showLayerNames: others.showLayerNames ?? false });
  const text = format === 'svg' ? (viz ?? (await installedViz())).renderString(dot, { format }) : dot;
  if (toFile !== undefined)
    await (await nodeFs()).promises.writeFile(toFile, text).catch((error: Error) => fail('io', where, `cannot write "${toFile}": ${error.message} - expected a folder that exists - check the path.`));
  return text;
}
