#pragma once

#include <optional>

#include "etude/distribute/workers.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

/// Gives all processes the checkpoint of rank 0, or none.
void share_checkpoint(std::optional<Checkpoint>& checkpoint, Workers& workers);

}  // namespace etude
