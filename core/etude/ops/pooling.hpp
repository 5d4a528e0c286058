#pragma once

#include "etude/graph/graph.hpp"

namespace etude::ops {

/// The largest of what the window sees of x [batch, height, width, channels], channel by channel; the gradient goes to
/// the first of equals. Windows are not dilated, and see at least one cell of x wherever they stand.
///
/// Pooled first, added and rectified after: max_pool(relu(x + bias)) with a bias per channel is built as
/// relu(max_pool(x) + bias), for both grow with x. The same values from fewer elements, and x's own kernel can pool.
/// The gradients are the same as well, but where adding the bias rounds two candidates to one number: then it goes to
/// the one that was larger.
Value max_pool(Value x, const Window& window);

/// The ops that it is made of.
Value pool_argmax(Value x, const Window& window);
/// The elements of x at these places of their windows.
Value pool_gather(Value x, Value index, const Window& window);
/// The transpose of pool_gather: what x, of `shape`, gets of dy.
Value pool_scatter(Value dy, Value index, const Window& window, const Shape& shape);

}  // namespace etude::ops
