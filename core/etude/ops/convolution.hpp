#pragma once

#include <string_view>

#include "etude/graph/graph.hpp"
#include "etude/graph/window.hpp"

namespace etude::ops {

/// Throws Error(value) for extents, strides or dilations below 1, for padding below 0, and for numbers of 2^31 or more.
/// `where` is the op's name in errors.
void check_window(const Window& window, std::string_view where);
/// The window with Keras's padding "same" or "valid" (none), over an input of [height, width].
Window padded(Window window, std::string_view padding, std::array<std::int64_t, 2> input);

/// x [batch, height, width, channels] ⋆ kernel [*window.extent, channels / groups, filters] -> [batch, .., ..,
/// filters].
Value convolution(Value x, Value kernel, const Window& window);
/// The transposes of convolution: with respect to x, which has the shape `shape`, and to the kernel.
Value convolution_input(Value dy, Value kernel, const Window& window, const Shape& shape);
/// The gradient with respect to the kernel, which has the shape `shape`.
Value convolution_filter(Value x, Value dy, const Window& window, const Shape& shape);

}  // namespace etude::ops
