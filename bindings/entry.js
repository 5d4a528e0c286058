// The entry of calls into the module. web/src/life.ts detects when an entry traps, and refuses later entries.
addToLibrary({
  $embind__requireFunction__deps: ['$wasmTable', '$stackSave', '$stackRestore'],
  $embind__requireFunction: (signature, pointer) => {
    const entry = wasmTable.get(pointer);
    return Module['host'] ? Module['host']['enter'](entry, stackSave, stackRestore) : entry; // a thread has no host, and no calls enter it
  },
  $releaseClassHandle__deps: ['$runDestructor'],
  $releaseClassHandle: (handle) => {
    handle.count.value -= 1;
    if (handle.count.value === 0 && !Module['host']?.['over']()) runDestructor(handle);
  },
});
