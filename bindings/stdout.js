// The output of C++: web/ receives it, piece by piece, so that a progress bar can move. It replaces Emscripten's file
// system, of which nothing else is used.
addToLibrary({
  fd_write__deps: [],
  fd_write__postset: '',
  fd_write(fd, pieces, count, written) {
    let total = 0;
    for (let piece = pieces >> 2; count > 0; --count, piece += 2) {
      const begin = HEAPU32[piece], length = HEAPU32[piece + 1];
      Module['host']?.['write'](fd, HEAPU8.slice(begin, begin + length));
      total += length;
    }
    HEAPU32[written >> 2] = total;
    return 0;
  },
  // isatty(1) calls this: a terminal is a character device (2) in WASI, anything else a file (4).
  fd_fdstat_get(fd, status) {
    HEAPU8[status] = Module['host']?.['isTerminal'] ? 2 : 4;
    return 0;
  },
});
