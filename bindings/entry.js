// How JavaScript enters the module. web/src/life.ts notices when an entry traps, and lets nothing in afterwards.
addToLibrary({
  $embind__requireFunction__deps: ['$wasmTable'],
  $embind__requireFunction: (signature, pointer) => {
    const entry = wasmTable.get(pointer);
    return Module['host'] ? Module['host']['enter'](entry) : entry; // a thread has no host, and is entered by none
  },
  $releaseClassHandle__deps: ['$runDestructor'],
  $releaseClassHandle: (handle) => {
    handle.count.value -= 1;
    if (handle.count.value === 0 && !Module['host']?.['over']()) runDestructor(handle);
  },
});
