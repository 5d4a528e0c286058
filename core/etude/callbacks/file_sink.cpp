#include "etude/callbacks/file_sink.hpp"

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {

std::unique_ptr<FileSink> open_file(const OpenFile& open, const std::string& path, bool append,
                                    std::string_view where) {
  if (open) return open(path, append);
  Vfs* const files = host().files.get();
  check(files != nullptr, ErrorKind::io, where, '"', path,
        "\" cannot be opened: no file system is available - expected ", "a host with files",
        ", or the option open, a function that opens files - provide one of them, or omit this "
        "callback.");
  files->make_folders(parent_of(path));
  return files->open(path, append);
}

}  // namespace etude
