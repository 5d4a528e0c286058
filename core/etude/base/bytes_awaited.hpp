#pragma once

#include <functional>

#include "etude/base/task.hpp"

namespace etude {

/// Thrown by a FileSource or a Vfs whose bytes come later, as those of a page's File do: read again when `pending` is
/// ready. core/etude/saving waits for them in load_model_task() and Model::load_weights_task().
struct BytesAwaited {
  /// Becomes ready when the bytes are there. Throws Error(io) if they do not come.
  PendingPtr pending;
  /// Is called when they were used: then they need not be kept.
  std::function<void()> forget;
};

}  // namespace etude
