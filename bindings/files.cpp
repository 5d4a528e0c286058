#include "files.hpp"

#include "callback_options.hpp"

namespace etude::js {
namespace {

/// A file of the host. Its exceptions are the system's errors, not the user's.
class HostFile : public FileSink {
 public:
  HostFile(std::string path, val file) : path_(std::move(path)), file_(std::move(file)) {}
  bool empty() const override { return file_.empty(); }
  void append(std::string_view bytes) override {
    told([&] { file_.append(bytes); });
  }
  void overwrite(std::uint64_t at, std::string_view bytes) override {
    told([&] { file_.overwrite(at, bytes); });
  }
  void flush() override {
    told([&] { file_.flush(); });
  }
  void sync() override {
    told([&] { file_.sync(); });
  }

 private:
  template <class Work> void told(Work&& work) {
    try {
      work();
    } catch (const Thrown& thrown) {
      fail_at_path(path_, "written", thrown.value["message"].as<std::string>());
    }
  }

  const std::string path_;
  JavaScriptFile file_;
};

class HostLock : public FileLock {
 public:
  explicit HostLock(val release) : release_(std::move(release)) {}
  HostLock(const HostLock&) = delete;
  HostLock& operator=(const HostLock&) = delete;
  ~HostLock() override { host("attempt")(release_); }

 private:
  val release_;
};

/// Bytes of a file that come later. Its exceptions are the system's errors, not the user's.
class FilePending : public PromisePending {
 public:
  FilePending(val promise, std::string path) : PromisePending(std::move(promise)), path_(std::move(path)) {}
  void rethrow() override {
    try {
      PromisePending::rethrow();
    } catch (const Thrown& thrown) {
      fail_at_path(path_, "read", thrown.value["message"].as<std::string>());
    }
  }

 private:
  const std::string path_;
};

/// The files of web/src/node.ts.
class HostFiles : public Vfs {
 public:
  explicit HostFiles(val files) : files_(std::move(files)) {}

  std::vector<std::byte> read(const std::string& path) override {
    const val bytes = told(path, "read", "read", path);
    std::vector<std::byte> result(length_of(bytes, path));
    auto* data = reinterpret_cast<unsigned char*>(result.data());
    val(emscripten::typed_memory_view(result.size(), data)).call<void>("set", bytes);
    return result;
  }
  std::unique_ptr<FileSource> source(const std::string& path) override;
  /// Fills `out` with the bytes of a file from `at` on.
  void read_at(const std::string& path, std::uint64_t at, std::span<std::byte> out) {
    const val bytes = told(path, "read", "readAt", path, static_cast<double>(at), static_cast<double>(out.size()));
    if (length_of(bytes, path) != out.size()) fail_at_path(path, "read", "it ended while it was read");
    auto* data = reinterpret_cast<unsigned char*>(out.data());
    val(emscripten::typed_memory_view(out.size(), data)).call<void>("set", bytes);
  }
  std::uint64_t size(const std::string& path) override {
    return static_cast<std::uint64_t>(told(path, "read", "size", path).as<double>());
  }
  std::unique_ptr<FileSink> open(const std::string& path, bool append) override {
    return std::make_unique<HostFile>(path, call_host("asFile", told(path, "opened", "open", path, append)));
  }
  void sync_folder(const std::string& path) override { told(path, "synced", "syncFolder", path); }
  void rename(const std::string& from, const std::string& to) override { told(to, "renamed to", "rename", from, to); }
  void remove(const std::string& path) override { told(path, "removed", "remove", path); }
  std::vector<std::string> list(const std::string& folder) override {
    return emscripten::vecFromJSArray<std::string>(told(folder, "read", "list", folder));
  }
  void make_folder(const std::string& path) override { told(path, "made", "makeFolder", path); }
  PathKind kind(const std::string& path) override {
    const std::string found = told(path, "read", "kind", path).as<std::string>();
    return found == "folder" ? PathKind::folder : found == "file" ? PathKind::file : PathKind::none;
  }
  std::unique_ptr<FileLock> lock(const std::string& path) override {
    const val release = told(path, "locked", "lock", path);
    check(!release.isUndefined(), ErrorKind::state, "file", '"', path,
          "\" is locked by another process, or another part of this one - expected a free folder - wait "
          "until that ends, or choose another folder.");
    return std::make_unique<HostLock>(release);
  }

 private:
  /// The number of bytes. Throws BytesAwaited for a promise of them.
  std::size_t length_of(const val& bytes, const std::string& path) const {
    const val length = bytes["length"];
    if (!length.isUndefined()) return length.as<std::size_t>();
    throw BytesAwaited{std::make_unique<FilePending>(bytes, path), [forget = files_["forget"]] { call(forget); }};
  }

  template <class... Given>
  val told(const std::string& path, std::string_view what, const char* function, const Given&... given) {
    try {
      return call(files_[function], val(given)...);
    } catch (const Thrown& thrown) {
      fail_at_path(path, what, thrown.value["message"].as<std::string>());
    }
  }

  val files_;
};

/// A file that is opened again for each piece.
class HostSource : public FileSource {
 public:
  HostSource(const HostFiles& files, std::string path)
      : files_(files), path_(std::move(path)), size_(files_.size(path_)) {}
  std::uint64_t size() const override { return size_; }
  void read(std::uint64_t at, std::span<std::byte> out) override { files_.read_at(path_, at, out); }

 private:
  HostFiles files_;
  const std::string path_;
  const std::uint64_t size_;
};

std::unique_ptr<FileSource> HostFiles::source(const std::string& path) {
  return std::make_unique<HostSource>(*this, path);
}

val copied(std::string_view bytes) {
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  return call_host("copyOf", val(emscripten::typed_memory_view(bytes.size(), data)));
}

}  // namespace

void JavaScriptFile::append(std::string_view bytes) { call(file_["append"], copied(bytes)); }
void JavaScriptFile::overwrite(std::uint64_t at, std::string_view bytes) {
  call(file_["overwrite"], static_cast<double>(at), copied(bytes));
}

std::shared_ptr<Vfs> Conversion<std::shared_ptr<Vfs>>::from(const val& files, const Where&) {
  return std::make_shared<HostFiles>(files);
}

EMSCRIPTEN_BINDINGS(files) {
  if (in_worker()) return;
  bind<"set_host_files(files)", [](std::shared_ptr<Vfs> files) { etude::host().files = std::move(files); }>();
  // web/ passes fetch when it has loaded the module.
  bind<"set_host_transport(post)", [](HttpTransport post) { etude::host().post = std::move(post); }>();
}

}  // namespace etude::js
