#pragma once

#include <memory>

namespace etude {

/// Drops a reference. The objects that this destroys may release others from their destructors: those are destroyed
/// one after the other, not one within the other, so that a long chain of them needs no deep stack.
void release(std::shared_ptr<const void> object) noexcept;

}  // namespace etude
