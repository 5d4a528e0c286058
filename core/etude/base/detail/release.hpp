#pragma once

#include <memory>

namespace etude {

/// Releases a reference. Destructors of the objects that this destroys may release others. These are destroyed one
/// after the other, not recursively, so that a long chain needs no deep stack.
void release(std::shared_ptr<const void> object) noexcept;

}  // namespace etude
