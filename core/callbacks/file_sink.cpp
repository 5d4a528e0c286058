#include "etude/callbacks/file_sink.hpp"

#include "etude/base/error.hpp"

#ifdef ETUDE_FILES
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#endif

namespace etude {
namespace {

#ifdef ETUDE_FILES
class SystemFile : public FileSink {
 public:
  SystemFile(const std::string& path, bool append) : path_(path) {
    std::error_code failed;  // reported by fopen, which then fails too
    if (const auto folder = std::filesystem::path(path).parent_path(); !folder.empty())
      std::filesystem::create_directories(folder, failed);
    errno = 0;
    file_.reset(std::fopen(path.c_str(), append ? "ab" : "wb"));
    check_written(file_ != nullptr, "opened");
    std::fseek(file_.get(), 0, SEEK_END);
    empty_ = std::ftell(file_.get()) == 0;
  }
  bool empty() const override { return empty_; }
  void append(std::string_view bytes) override {
    errno = 0;
    check_written(std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size(), "written");
  }
  void flush() override {
    errno = 0;
    check_written(std::fflush(file_.get()) == 0, "written");
  }

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  void check_written(bool ok, const char* what) const {
    check(ok, ErrorKind::io, "file", '"', path_, "\" cannot be ", what, ": ", std::strerror(errno),
          " - expected a place that may be written to - check the path.");
  }

  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
  bool empty_ = true;
};

OpenFile system_files() {
  return [](const std::string& path, bool append) { return std::make_unique<SystemFile>(path, append); };
}
#else
OpenFile system_files() { return nullptr; }
#endif

}  // namespace

OpenFile& host_files() {
  static OpenFile open = system_files();
  return open;
}

std::unique_ptr<FileSink> open_file(const OpenFile& open, const std::string& path, bool append,
                                    std::string_view where) {
  const OpenFile& chosen = open ? open : host_files();
  check(static_cast<bool>(chosen), ErrorKind::io, where, '"', path,
        "\" cannot be opened: there are no files here - expected the option open, a function that takes what is "
        "written - pass one, or leave this callback out.");
  return chosen(path, append);
}

}  // namespace etude
