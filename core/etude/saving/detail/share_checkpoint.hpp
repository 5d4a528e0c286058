#pragma once

#include <optional>

#include "etude/distribute/workers.hpp"
#include "etude/saving/checkpoint.hpp"

namespace etude {

/// Gives all processes the checkpoint of that rank, or none.
void share_checkpoint(std::optional<Checkpoint>& checkpoint, Workers& workers, int root = 0);

}  // namespace etude
