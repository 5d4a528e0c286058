#pragma once

#include <functional>

#include "etude/base/task.hpp"

namespace etude {

/// Thrown by a FileSource or a Vfs whose bytes arrive later, such as those of a page's File: read again when `pending`
/// is ready. core/etude/saving waits for them in load_model_task(), load_string_layers_task() and
/// Model::load_weights_task().
struct BytesAwaited {
  /// Becomes ready when the bytes have arrived. Throws Error(io) if they cannot be read.
  PendingPtr pending;
  /// Called after the bytes were used, so that they can be released.
  std::function<void()> forget;
};

}  // namespace etude
