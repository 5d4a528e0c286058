#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>

#include "etude/base/detail/archive.hpp"
#include "etude/base/detail/minizip.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {
namespace {

/// The file that minizip writes. It writes headers in pieces of two bytes, which a buffer gathers, and overwrites a
/// file's header when the file ends.
class Output {
 public:
  explicit Output(FileSink& file) : file_(file) {}

  std::uint64_t at() const { return at_; }
  std::uint64_t end() const { return written_ + buffer_.size(); }
  void go_to(std::uint64_t at) { at_ = at; }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      std::size_t count = bytes.size();
      if (at_ == end()) {
        buffer_.append(bytes);
        if (buffer_.size() >= most) flush();
      } else if (at_ >= written_) {
        count = std::min(count, static_cast<std::size_t>(end() - at_));
        bytes.copy(buffer_.data() + (at_ - written_), count);
      } else {
        count = static_cast<std::size_t>(std::min<std::uint64_t>(count, written_ - at_));
        file_.overwrite(at_, bytes.substr(0, count));
      }
      at_ += count;
      bytes.remove_prefix(count);
    }
  }
  void flush() {
    if (!buffer_.empty()) file_.append(buffer_);
    written_ += buffer_.size();
    buffer_.clear();
  }

  /// The first error of a write: exceptions must not pass through functions of C.
  std::exception_ptr error;

 private:
  static constexpr std::size_t most = std::size_t{1} << 16;

  FileSink& file_;
  std::string buffer_;  // what comes after `written_` bytes
  std::uint64_t written_ = 0, at_ = 0;
};
Output& output_of(voidpf opaque) { return *static_cast<Output*>(opaque); }

voidpf open_output(voidpf opaque, const void*, int) { return opaque; }
uLong read_nothing(voidpf, voidpf, void*, uLong) { return 0; }
uLong write_output(voidpf opaque, voidpf, const void* bytes, uLong size) {
  Output& output = output_of(opaque);
  if (output.error) return 0;
  try {
    output.write({static_cast<const char*>(bytes), static_cast<std::size_t>(size)});
  } catch (...) {
    output.error = std::current_exception();
    return 0;
  }
  return size;
}
ZPOS64_T tell_output(voidpf opaque, voidpf) { return output_of(opaque).at(); }
long seek_output(voidpf opaque, voidpf, ZPOS64_T offset, int origin) {
  Output& output = output_of(opaque);
  const std::uint64_t from = origin == ZLIB_FILEFUNC_SEEK_CUR   ? output.at()
                             : origin == ZLIB_FILEFUNC_SEEK_END ? output.end()
                                                                : 0;
  if (from + offset > output.end()) return -1;
  output.go_to(from + offset);
  return 0;
}
int no_error(voidpf, voidpf) { return 0; }

class ZipWriter : public ArchiveWriter {
 public:
  ZipWriter(const std::string& path, const std::shared_ptr<Vfs>& files)
      : files_(vfs_or_host(files, "zip")), path_(path), made_(*files_, path), output_(made_.file()) {
    zlib_filefunc64_def functions{open_output, read_nothing, write_output, tell_output,
                                  seek_output, no_error,     no_error,     &output_};
    file_ = zipOpen2_64("", APPEND_STATUS_CREATE, nullptr, &functions);
    require(file_ ? ZIP_OK : ZIP_INTERNALERROR);
  }
  ~ZipWriter() override {
    if (!file_) return;
    output_.error = std::make_exception_ptr(0);  // writes nothing more
    zipClose(file_, nullptr);
  }

  void begin(const std::string& name, bool compress, std::uint64_t most) override {
    const std::string_view fault = name.ends_with('/') ? "is a folder's" : fault_of_name(name);
    check(fault.empty(), ErrorKind::value, "zip", "a file for \"", path_, "\" with a name that ", fault,
          " - expected a relative path - choose another name.");
    check(names_.insert(name).second, ErrorKind::value, "zip", "two files \"", name, "\" for \"", path_,
          "\" - expected unique names - rename one.");
    constexpr std::uint64_t least_large = 0xF0000000;  // incompressible bytes become a little more
    constexpr uLong utf8 = 0x800, made_by = 20;
    constexpr int memory = 8;
    zip_fileinfo info{};
    info.dosDate = 1u << 21 | 1u << 16;  // 1980-01-01
    require(zipOpenNewFileInZip4_64(file_, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr,
                                    compress ? Z_DEFLATED : 0, Z_DEFAULT_COMPRESSION, 0, -MAX_WBITS, memory,
                                    Z_DEFAULT_STRATEGY, nullptr, 0, made_by, utf8, most >= least_large));
  }

  void append(std::string_view bytes) override {
    constexpr std::size_t most = std::size_t{1} << 30;  // minizip counts bytes in an unsigned int
    for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), most)))
      require(zipWriteInFileInZip(file_, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), most))));
  }

  void commit() override {
    require(zipClose(std::exchange(file_, nullptr), nullptr));
    output_.flush();
    made_.commit();
  }

 private:
  void require(int code) {
    if (output_.error) std::rethrow_exception(output_.error);
    check(code == ZIP_OK, ErrorKind::internal, "zip", "minizip ends with code ", code, " at \"", path_,
          "\" - expected memory for its tables, and no more bytes than announced - free some memory.");
  }

  const std::shared_ptr<Vfs> files_;
  const std::string path_;
  FileReplacement made_;
  Output output_;
  zipFile file_ = nullptr;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::unique_ptr<ArchiveWriter> zip_writer(const std::string& path, const std::shared_ptr<Vfs>& files) {
  return std::make_unique<ZipWriter>(path, files);
}

}  // namespace etude
