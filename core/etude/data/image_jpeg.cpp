#include "etude/base/error.hpp"
#include "etude/data/detail/image_formats.hpp"

#ifdef ETUDE_JPEG
#include <csetjmp>
#include <cstdio>
// It needs <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

namespace etude::images {
namespace {

/// A JPEG file in memory. libjpeg leaves its functions by longjmp, so no object with a destructor is made while it
/// runs.
class JpegReader {
 public:
  JpegReader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = on_error;
    errors_.emit_message = on_message;
    jpeg_.client_data = this;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Tensor image() {
    attempt([this] {
      jpeg_create_decompress(&jpeg_);
      jpeg_.progress = &progress_;
      progress_.progress_monitor = on_progress;
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes_.data()), bytes_.size());
      jpeg_read_header(&jpeg_, TRUE);
    });
    const std::uint64_t height = jpeg_.image_height, width = jpeg_.image_width;
    check_pixels(height, width, where_);
    // 64 pixels of one color take a bit or more.
    check(height * width / 4096 <= bytes_.size(), ErrorKind::data, where_, bytes_.size(), " bytes for ", height, " x ",
          width, " pixels - expected more - the file is damaged; get it again.");
    check(jpeg_.num_components == 1 || jpeg_.num_components == 3, ErrorKind::data, where_, "a JPEG image of ",
          jpeg_.num_components, " color components - expected 1 or 3, not CMYK - convert it to RGB.");
    attempt([this] {
      jpeg_.out_color_space = jpeg_.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_.dct_method = JDCT_ISLOW;  // the accurate one
      jpeg_start_decompress(&jpeg_);
    });
    Tensor result({static_cast<std::int64_t>(height), static_cast<std::int64_t>(width), jpeg_.output_components},
                  DType::uint8);
    auto* const pixels = reinterpret_cast<JSAMPLE*>(result.raw());
    attempt([this, pixels] {
      const std::size_t row_bytes =
          static_cast<std::size_t>(jpeg_.output_width) * static_cast<std::size_t>(jpeg_.output_components);
      while (jpeg_.output_scanline < jpeg_.output_height) {
        JSAMPROW row = pixels + jpeg_.output_scanline * row_bytes;
        jpeg_read_scanlines(&jpeg_, &row, 1);
      }
      jpeg_finish_decompress(&jpeg_);
    });
    return result;
  }

 private:
  /// Runs functions of libjpeg. They jump back here if they fail.
  template <class Work> void attempt(const Work& work) {
    if (setjmp(jump_) == 0)
      work();
    else
      fail_as_damaged();
  }
  [[noreturn, gnu::noinline]] void fail_as_damaged() const {
    fail(ErrorKind::data, where_, "a damaged JPEG image (", std::string_view(reason_),
         ") - expected an intact file - get it again.");
  }

  [[noreturn]] static void on_error(j_common_ptr jpeg) {
    auto& self = *static_cast<JpegReader*>(jpeg->client_data);
    jpeg->err->format_message(jpeg, self.reason_);
    std::longjmp(self.jump_, 1);
  }
  /// A negative level is a warning: libjpeg would go on with pixels that it makes up.
  static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA) on_error(jpeg);
  }
  /// A file of few bytes may have very many scans, each of which visits all pixels.
  static void on_progress(j_common_ptr jpeg) {
    if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= 500) return;
    auto& self = *static_cast<JpegReader*>(jpeg->client_data);
    std::snprintf(self.reason_, sizeof self.reason_, "more than 500 scans");
    std::longjmp(self.jump_, 1);
  }

  std::span<const std::byte> bytes_;
  std::string_view where_;
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  std::jmp_buf jump_{};
  char reason_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

bool has_jpeg() { return true; }
Tensor decode_jpeg(std::span<const std::byte> bytes, std::string_view where) {
  return JpegReader(bytes, where).image();
}

}  // namespace etude::images

#else

namespace etude::images {

bool has_jpeg() { return false; }
Tensor decode_jpeg(std::span<const std::byte>, std::string_view where) {
  fail(ErrorKind::state, where,
       "a JPEG image in a build without libjpeg - expected one with it - install libjpeg and build again.");
}

}  // namespace etude::images

#endif
