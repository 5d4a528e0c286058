#pragma once

#include <string>
#include <string_view>

#include "etude/base/vfs.hpp"

namespace etude::testing {

/// A file that is a text.
class TextFile : public FileSink {
 public:
  bool empty() const override { return text.empty(); }
  void append(std::string_view bytes) override { text += bytes; }
  void flush() override {}

  std::string text;
};

}  // namespace etude::testing
