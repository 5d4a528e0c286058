#include "etude/base/error.hpp"
#include "etude/data/detail/image_formats.hpp"

#ifdef ETUDE_PNG
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

namespace etude::images {
namespace {

/// A PNG file in memory. libpng leaves its functions by longjmp, so no object with a destructor is made while it runs.
class PngReader {
 public:
  PngReader(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes),
        where_(where),
        png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning)),
        info_(png_ ? png_create_info_struct(png_) : nullptr) {
    if (!info_) png_destroy_read_struct(&png_, nullptr, nullptr);
    check(info_ != nullptr, ErrorKind::internal, where_, "libpng cannot start - expected memory for it - free some.");
    png_set_read_fn(png_, this, read);
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Tensor image() {
    attempt([this] {
      png_set_user_limits(png_, 0x7fffffff, 0x7fffffff);  // check_pixels has the limits
      png_read_info(png_, info_);
    });
    const std::uint64_t height = png_get_image_height(png_, info_), width = png_get_image_width(png_, info_);
    check_pixels(height, width, where_);
    // Deflate makes at most 1032 bytes of one.
    const std::uint64_t expanded = height * png_get_rowbytes(png_, info_);
    check(expanded / 1100 <= bytes_.size(), ErrorKind::data, where_, bytes_.size(), " bytes for ", height, " x ", width,
          " pixels - expected more - the file is damaged; get it again.");
    attempt([this] {
      png_set_expand(png_);  // palettes, fewer than 8 bits, and transparent colors
      png_set_strip_16(png_);
      passes_ = png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
    const std::int64_t channels = png_get_channels(png_, info_);
    Tensor result({static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), channels}, DType::uint8);
    check(png_get_rowbytes(png_, info_) * height == result.bytes(), ErrorKind::internal, where_,
          png_get_rowbytes(png_, info_), " bytes in a row - expected 8 bits per channel - report this file.");
    auto* const pixels = reinterpret_cast<png_bytep>(result.raw());
    attempt([this, pixels, height] {
      const std::size_t row_bytes = png_get_rowbytes(png_, info_);
      for (int pass = 0; pass < passes_; ++pass)
        for (std::size_t row = 0; row < height; ++row) png_read_row(png_, pixels + row * row_bytes, nullptr);
      png_read_end(png_, nullptr);
    });
    return result;
  }

 private:
  /// Runs functions of libpng. They jump back here if they fail.
  template <class Work> void attempt(const Work& work) {
    if (setjmp(png_jmpbuf(png_)) == 0)
      work();
    else
      fail_as_damaged();
  }
  [[noreturn, gnu::noinline]] void fail_as_damaged() const {
    fail(ErrorKind::data, where_, "a damaged PNG image (", std::string_view(reason_),
         ") - expected an intact file - get it again.");
  }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self.reason_, sizeof self.reason_, "%s", message);
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
  static void read(png_structp png, png_bytep to, std::size_t count) {
    auto& self = *static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self.bytes_.size()) png_error(png, "it ends too early");
    std::memcpy(to, self.bytes_.data(), count);
    self.bytes_ = self.bytes_.subspan(count);
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  png_structp png_;
  png_infop info_;
  int passes_ = 1;
  char reason_[200] = {};
};

}  // namespace

bool has_png() { return true; }
Tensor decode_png(std::span<const std::byte> bytes, std::string_view where) { return PngReader(bytes, where).image(); }

}  // namespace etude::images

#else

namespace etude::images {

bool has_png() { return false; }
Tensor decode_png(std::span<const std::byte>, std::string_view where) {
  fail(ErrorKind::state, where,
       "a PNG image in a build without libpng - expected one with it - install libpng and build again.");
}

}  // namespace etude::images

#endif
