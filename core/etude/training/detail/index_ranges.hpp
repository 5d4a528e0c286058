#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/data/data_handler.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// The tensors of a batch that a step uses unchanged as labels or indices, and their valid ranges, so that an error can
/// name numbers that would become NaN. Indices that the step computes are not checked, nor are numbers under a mask
/// that the step computes.
class IndexRanges {
 public:
  IndexRanges() = default;
  explicit IndexRanges(const Graph& graph);
  /// Throws Error(data) with the first number out of its range, and its row. Allocates nothing otherwise.
  void check(const Batch& batch, Purpose purpose = Purpose::training) const;

 private:
  /// A part of a tensor: in each `period` of its elements, `length` elements from `first` on; all elements if the
  /// period is 0.
  struct Part {
    std::int64_t period = 0, first = 0, length = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  /// The source of indices: a tensor of the batch.
  struct Origin {
    int input = -1;
    Part part = {};
    bool in_order = true;
  };
  /// Numbers are checked where another tensor is not `absent`.
  struct Mask {
    int input;
    double absent;
    friend bool operator==(const Mask&, const Mask&) = default;
  };
  struct Range {
    Origin origin;
    ExpectedRange expected;
    std::optional<Mask> mask;
  };

  static std::optional<Origin> origin_of(const Graph& graph, NodeId id);
  static std::optional<Mask> mask_of(const Graph& graph, NodeId id);
  static bool covers(const Range& known, const Range& other);
  static bool holds(const Tensor& tensor, const Range& range);
  static void check_each(const Batch& batch, const Range& range, Purpose purpose);

  std::vector<Range> ranges_;
};

}  // namespace etude
