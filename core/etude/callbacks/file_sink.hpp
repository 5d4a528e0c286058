#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude {

/// Opens the file at `path`, and makes the folders that it lies in. What it held before stays only if `append`.
using OpenFile = std::function<std::unique_ptr<FileSink>(const std::string& path, bool append)>;

/// The file at `path`, opened by `open`, or in host().files if that is empty. Throws Error(io) where there is neither,
/// and where the system refuses.
std::unique_ptr<FileSink> open_file(const OpenFile& open, const std::string& path, bool append, std::string_view where);

}  // namespace etude
