/** A file that grows: what the option `open` of callbacks that write gives. What it does is done when it returns. */
export interface FileSink {
  append(bytes: Uint8Array): void;
  /** Shows others what was appended so far. */
  flush?(): void;
  close?(): void;
  /** Whether there was nothing in it when it was opened. Default: true. */
  readonly empty?: boolean;
}

/** A file as the module calls it: by functions that need no `this`. */
export const asFile = (file: FileSink) => ({
  append: (bytes: Uint8Array) => file.append(bytes),
  flush: () => file.flush?.(),
  close: () => file.close?.(),
  empty: file.empty ?? true,
});
