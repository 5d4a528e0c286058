#include "etude/base/detail/inflate.hpp"

#include <algorithm>
#include <new>

#include "etude/base/detail/minizip.hpp"

namespace etude {
namespace {

/// The most bytes that zlib gets at once: it counts them in 32 bits.
constexpr std::size_t most = std::size_t{1} << 30;

/// A stream of zlib that is decompressed.
class Inflater {
 public:
  Inflater() {
    if (inflateInit(&stream_) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  bool expand(std::span<const std::byte> in, std::span<std::byte> out) {
    std::byte none{};  // zlib rejects a null pointer, even for no bytes
    stream_.next_out = reinterpret_cast<Bytef*>(out.empty() ? &none : out.data());
    stream_.next_in = reinterpret_cast<z_const Bytef*>(const_cast<std::byte*>(in.data()));
    std::size_t in_left = in.size(), out_left = out.size();
    for (;;) {
      const auto in_now = static_cast<uInt>(std::min(in_left, most)),
                 out_now = static_cast<uInt>(std::min(out_left, most));
      stream_.avail_in = in_now;
      stream_.avail_out = out_now;
      const int code = ::inflate(&stream_, Z_NO_FLUSH);
      const bool moved = stream_.avail_in != in_now || stream_.avail_out != out_now;
      in_left -= in_now - stream_.avail_in;
      out_left -= out_now - stream_.avail_out;
      if (code == Z_STREAM_END) return in_left == 0 && out_left == 0;
      if (code != Z_OK || !moved) return false;
    }
  }

 private:
  z_stream stream_{};
};

// An entry point of a part of the WebAssembly module, listed in bindings/parts.mjs: it is called by address only.
bool expand_zlib(std::span<const std::byte> in, std::span<std::byte> out) { return Inflater().expand(in, out); }

}  // namespace

namespace detail {

// Not constant, so that no compiler replaces the address by a call.
decltype(&expand_zlib) zlib_expander = expand_zlib;

}  // namespace detail

bool inflate_zlib(std::span<const std::byte> in, std::span<std::byte> out) { return detail::zlib_expander(in, out); }

}  // namespace etude
