#include "etude/base/detail/minizip.hpp"

// minizip opens files by these functions of its ioapi.c. It gets functions for all files that it reads and writes here,
// so none of the system's.
extern "C" {

void fill_fopen64_filefunc(zlib_filefunc64_def* functions) { *functions = {}; }
void fill_zlib_filefunc64_32_def_from_filefunc32(zlib_filefunc64_32_def* functions, const zlib_filefunc_def*) {
  *functions = {};
}
voidpf call_zopen64(const zlib_filefunc64_32_def* functions, const void* name, int mode) {
  const zlib_filefunc64_def& chosen = functions->zfile_func64;
  return chosen.zopen64_file ? chosen.zopen64_file(chosen.opaque, name, mode) : nullptr;
}
long call_zseek64(const zlib_filefunc64_32_def* functions, voidpf stream, ZPOS64_T offset, int origin) {
  return functions->zfile_func64.zseek64_file(functions->zfile_func64.opaque, stream, offset, origin);
}
ZPOS64_T call_ztell64(const zlib_filefunc64_32_def* functions, voidpf stream) {
  return functions->zfile_func64.ztell64_file(functions->zfile_func64.opaque, stream);
}

// zip.c compresses by these functions in place of zlib's. The npm package compresses nothing, so a page does not
// download zlib's compressor.

#ifdef ETUDE_DEFLATE
int ZEXPORT etude_deflateInit2_(z_streamp stream, int level, int method, int bits, int memory, int strategy,
                                const char* version, int size) {
  return deflateInit2_(stream, level, method, bits, memory, strategy, version, size);
}
int ZEXPORT etude_deflate(z_streamp stream, int flush) { return deflate(stream, flush); }
int ZEXPORT etude_deflateEnd(z_streamp stream) { return deflateEnd(stream); }
#else
int ZEXPORT etude_deflateInit2_(z_streamp, int, int, int, int, int, const char*, int) { return Z_STREAM_ERROR; }
int ZEXPORT etude_deflate(z_streamp, int) { return Z_STREAM_ERROR; }
int ZEXPORT etude_deflateEnd(z_streamp) { return Z_STREAM_ERROR; }
#endif

}  // extern "C"
