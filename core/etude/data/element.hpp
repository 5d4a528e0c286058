#pragma once

#include <cstdint>
#include <span>

#include "etude/data/batch.hpp"

namespace etude {

/// Calls `visit(tensor of one, tensor of the other in the same place)` for all tensors of two batches of one structure.
template <class One, class Other, class Visit> void zip_tensors(One& one, Other& other, Visit&& visit) {
  for (auto member : {&Batch::x, &Batch::y, &Batch::sample_weight})
    for (std::size_t i = 0; i < (one.*member).size(); ++i) visit((one.*member)[i], (other.*member)[i]);
}

/// Row `index` of all arrays, without its axis: [samples, …] become […]. Shares the bytes.
Batch row_of(const Batch& arrays, std::int64_t index);

/// Elements of one structure and shape, one behind the other along a new first axis: […] become [elements, …]. Throws
/// Error(data) where they differ.
Batch stacked(std::span<const Batch> elements);

/// One element of several: the inputs of all parts but where each part has inputs alone. Then, as in
/// zip((features, labels, weights)), the second's are targets and the third's sample weights. Throws Error(data) for
/// more than three of those.
Batch joined(std::span<const Batch> parts);

}  // namespace etude
