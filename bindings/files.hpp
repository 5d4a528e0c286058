#pragma once

/// Files of JavaScript: those of Node.js, and those that a user's function opens.
#include "bind.hpp"

namespace etude::js {

/// The result of web's asFile: functions that append, flush, sync and close.
class JavaScriptFile : public FileSink {
 public:
  explicit JavaScriptFile(val file) : file_(std::move(file)) {}
  JavaScriptFile(const JavaScriptFile&) = delete;
  JavaScriptFile& operator=(const JavaScriptFile&) = delete;
  ~JavaScriptFile() override { host("attempt")(file_["close"]); }

  bool empty() const override { return file_["empty"].isTrue(); }
  void append(std::string_view bytes) override;
  void overwrite(std::uint64_t at, std::string_view bytes) override;
  void flush() override { call(file_["flush"]); }
  void sync() override { call(file_["sync"]); }

 private:
  val file_;
};

template <> struct Conversion<std::shared_ptr<Vfs>> {
  static std::shared_ptr<Vfs> from(const val& files, const Where& where);
  static std::string given() { return "(Files | LaterFiles)"; }
};

}  // namespace etude::js
