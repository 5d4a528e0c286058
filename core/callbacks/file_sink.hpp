#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace etude {

/// A file that grows. It is closed when this is destroyed.
class FileSink {
 public:
  virtual ~FileSink() = default;
  /// Whether there was nothing in it when it was opened.
  virtual bool empty() const = 0;
  virtual void append(std::string_view bytes) = 0;
  /// Shows others what was appended so far.
  virtual void flush() = 0;
};

/// Opens the file at `path`, and makes the folders that it lies in. What it held before stays only if `append`.
using OpenFile = std::function<std::unique_ptr<FileSink>(const std::string& path, bool append)>;

/// How callbacks open files unless their options say: those of the system; what the host of a WebAssembly module sets;
/// empty where there are none, as in a page.
OpenFile& host_files();

/// The file at `path`, opened by `open`, or by host_files() if that is empty. Throws Error(io) if both are, and where
/// the system refuses.
std::unique_ptr<FileSink> open_file(const OpenFile& open, const std::string& path, bool append, std::string_view where);

}  // namespace etude
