#pragma once

#include <string>
#include <string_view>

#include "etude/base/host.hpp"

namespace etude::testing {

/// Collects what is written to a console during its lifetime.
class ConsoleText {
 public:
  explicit ConsoleText(Console console) : before_(host().write) {
    text_.clear();
    console_ = console;
    host().write = [](Console to, std::string_view text) {
      if (to == console_) text_ += text;
    };
  }
  ~ConsoleText() { host().write = before_; }
  ConsoleText(const ConsoleText&) = delete;
  ConsoleText& operator=(const ConsoleText&) = delete;
  static const std::string& text() { return text_; }

 private:
  ConsoleWrite before_;
  inline static Console console_;
  inline static std::string text_;
};

}  // namespace etude::testing
