#pragma once

#include <cstdint>
#include <span>

#include "etude/data/batch.hpp"

namespace etude {

/// Calls `visit(tensor of one, tensor of the other in the same place)` for all tensors of two batches of one structure.
/// Missing masks are left out.
template <class One, class Other, class Visit> void zip_tensors(One& one, Other& other, Visit&& visit) {
  for (auto member : {&Batch::x, &Batch::y, &Batch::sample_weight})
    for (std::size_t i = 0; i < (one.*member).size(); ++i) visit((one.*member)[i], (other.*member)[i]);
  for (std::size_t i = 0; i < one.mask.size(); ++i)
    if (one.mask[i]) visit(one.mask[i], other.mask[i]);
}

/// Row `index` of all arrays, without the axis of rows: [samples, …] become […]. Shares memory.
Batch row_of(const Batch& arrays, std::int64_t index);

/// Stacks elements of one structure and shape along a new first axis: […] become [elements, …]. Throws Error(data) if
/// they differ.
Batch stacked(std::span<const Batch> elements);

/// Combines several elements into one. If each part has only inputs, as in zip((features, labels, weights)), those of
/// the second are targets and those of the third sample weights. Otherwise all inputs are collected. Throws Error(data)
/// for more than three parts with only inputs.
Batch joined(std::span<const Batch> parts);

}  // namespace etude
