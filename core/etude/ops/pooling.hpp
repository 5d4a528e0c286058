#pragma once

#include "etude/graph/graph.hpp"
#include "etude/graph/window.hpp"

namespace etude::ops {

/// The maximum of x [batch, height, width, channels] in each window, by channel. The gradient goes to the first of
/// equals. Windows are not dilated, and contain at least one cell of x at every position.
///
/// The pooling comes first: max_pool(relu(x + bias)) with a bias per channel is built as relu(max_pool(x) + bias),
/// since both are monotonic in x. The values are the same, there are fewer elements, and x's own kernel can pool. The
/// gradients are the same too, except if the addition of the bias rounds two candidates to one number: then the
/// gradient goes to the candidate that was larger.
Value max_pool(Value x, const Window& window);

/// The ops that max_pool consists of.
Value pool_argmax(Value x, const Window& window);
/// The elements of x at these cells of their windows.
Value pool_gather(Value x, Value index, const Window& window);
/// The transpose of pool_gather: dy, distributed to x, of `shape`.
Value pool_scatter(Value dy, Value index, const Window& window, const Shape& shape);

}  // namespace etude::ops
