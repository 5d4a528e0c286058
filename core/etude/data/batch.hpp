#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/nesting.hpp"
#include "etude/base/tensor.hpp"

namespace etude {

struct Batch;

/// The rows of some arrays that form a batch: as many as the batch has, from position `first` of this pass's order. The
/// order changes only when `pass` does.
struct Selection {
  /// The arrays; null for a batch with separate Tensors.
  std::shared_ptr<const Batch> arrays;
  /// The rows of the arrays in the order of this pass; empty: as they are.
  std::span<const std::int32_t> order;
  /// The place of the batch's first row in the order, and the number of the pass.
  std::int64_t first = 0, pass = 0;
};

/// The numbers of a batch's rows in the caller's data, for errors. Row i is number order[i] + `before`, or without an
/// order number first + i. Unknown if `first` is negative.
struct RowNumbers {
  /// The number of the first row, without an order.
  std::int64_t first = -1;
  /// The order of the rows; null: one after the other.
  const std::int64_t* order = nullptr;
  /// How many rows stand before those of the order.
  std::int64_t before = 0;

  /// The number of a row of the batch.
  std::int64_t at(std::int64_t row) const { return order ? before + order[row] : first + row; }
};

/// Tensors by name, or by their paths in nested lists and dicts: "boxes/0".
using NamedTensors = std::map<std::string, Tensor, PathOrder>;

/// The names of a batch's arrays, in their order: keys, or paths in nested lists and dicts; none for those without
/// names.
struct BatchNames {
  /// The names of inputs, targets and sample weights.
  std::vector<std::string> x, y, sample_weight;
  friend bool operator==(const BatchNames&, const BatchNames&) = default;
};

/// Corresponding rows of data, as arrays or as the batch of one step: one Tensor per model input in `x`, one per output
/// in `y` (none for predictions), and in `sample_weight` none or one per output. All are [rows, …]. `mask` is empty, or
/// has for each input the entries that count: bool [rows, steps], or no Tensor if all do. Arrays with names are in any
/// order: the model puts them into its own. named_batch() makes such a batch.
struct Batch {
  /// The tensors of inputs, targets, weights and masks; masks may be missing.
  std::vector<Tensor> x, y, sample_weight, mask = {};
  /// If it has arrays, the batch consists of those rows of them, and its own Tensors only give shapes and dtypes.
  Selection selection = {};
  /// The position of its rows in the caller's data.
  RowNumbers numbers = {};
  /// The names of its arrays; null without names.
  std::shared_ptr<const BatchNames> names = {};
  /// If each process has read rows of its own: how many each of them has. Together they are the batch of the step.
  std::span<const std::int64_t> worker_rows = {};

  /// Rows of the first input; 0 without one.
  std::int64_t size() const { return x.empty() ? 0 : x.front().shape()[0]; }
};

/// Visits its tensors in the order of a step's inputs: x, y, sample weights, and existing masks.
template <class Visit> void for_each_tensor(const Batch& batch, Visit&& visit) {
  for (const auto* group : {&batch.x, &batch.y, &batch.sample_weight})
    for (const Tensor& tensor : *group) visit(tensor);
  for (const Tensor& mask : batch.mask)
    if (mask) visit(mask);
}

/// The names of its arrays, of which there may be none.
inline const BatchNames& names_of(const Batch& batch) {
  static const BatchNames none;
  return batch.names ? *batch.names : none;
}

/// Throws Error(data) unless there is an input, every Tensor has rows, and all have the same number of them (L-37).
void check_cardinality(const Batch& batch, std::string_view where);

/// Casts floats to floatx() and leaves other dtypes unchanged (L-38). Tensors that have the right dtype are not copied.
void cast_to_floatx(Batch& batch);

}  // namespace etude
