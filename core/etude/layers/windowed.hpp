#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "etude/base/error.hpp"
#include "etude/base/pair.hpp"
#include "etude/ops/convolution.hpp"
#include "etude/ops/shape.hpp"

/// Code shared by layers with a window over two axes. `where` is the layer's name in errors.
namespace etude::windowed {

inline constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

inline void check_positive(const char* name, std::int64_t number, std::string_view where) {
  check(number > 0 && number <= most, ErrorKind::value, where, name, " = ", number,
        " - expected a positive number of less than 2^31 - set ", name, '.');
}
inline void check_positive(const char* name, const Pair& pair, std::string_view where) {
  check(pair.height() > 0 && pair.width() > 0 && pair.height() <= most && pair.width() <= most, ErrorKind::value, where,
        name, " = ", pair, " - expected a positive number of less than 2^31, or two - set ", name, '.');
}

inline void check_padding(std::string_view padding, std::string_view where) {
  check(padding == "valid" || padding == "same", ErrorKind::value, where, "padding = \"", padding,
        "\" - expected \"valid\" or \"same\" - choose one.");
}

inline void check_rank(const Shape& shape, bool channels_first, std::string_view where) {
  check(shape.rank() == 4, ErrorKind::shape, where, "input of shape ", shape, " - expected ",
        channels_first ? "[batch, channels, height, width]" : "[batch, height, width, channels]",
        " - reshape the data, with an axis of 1 for a single channel.");
}

/// The window with Keras's padding "valid" or "same", or with its own for "causal", over x [batch, height, width,
/// channels].
inline Window window(Window window, std::string_view padding, const Shape& x, std::string_view where) {
  if (padding != "causal") window = ops::padded(window, padding, {x[1], x[2]});
  check(window.outputs(0, x[1]) > 0 && window.outputs(1, x[2]) > 0, ErrorKind::shape, where, "a window of ",
        window.span(0), " x ", window.span(1), " for an input of ", x[1], " x ", x[2],
        " - expected a window that is not larger - use a smaller one, or padding = \"same\".");
  return window;
}

/// x in the order for computation, or back.
inline Value channels_last(Value x, bool channels_first) {
  return channels_first ? ops::transpose(x, {0, 2, 3, 1}) : x;
}
inline Value back(Value y, bool channels_first) { return channels_first ? ops::transpose(y, {0, 3, 1, 2}) : y; }

}  // namespace etude::windowed
