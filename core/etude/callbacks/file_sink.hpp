#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude {

/// Opens the file at `path` and creates its folders. Keeps the existing content only if `append`.
using OpenFile = std::function<std::unique_ptr<FileSink>(const std::string& path, bool append)>;

/// Opens the file at `path` by `open`, or in host().files if that is empty. Throws Error(io) if there is neither, or if
/// the system refuses.
std::unique_ptr<FileSink> open_file(const OpenFile& open, const std::string& path, bool append, std::string_view where);

}  // namespace etude
