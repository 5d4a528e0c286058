#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "etude/data/data_handler.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// Which tensors of a batch a step takes for labels or indices as they are, and what range it expects of them: so an
/// error tells what would become NaN. What the step computes first is not checked, nor are numbers under a mask that
/// the step computes.
class IndexRanges {
 public:
  IndexRanges() = default;
  explicit IndexRanges(const Graph& graph);
  /// Throws Error(data) that names the first number outside of its range, and its row. Allocates nothing else.
  void check(const Batch& batch, Purpose purpose = Purpose::training) const;

 private:
  /// In each `period` of the tensor's elements, `length` from `first` on; all of them where the period is 0.
  struct Part {
    std::int64_t period = 0, first = 0, length = 0;
    friend bool operator==(const Part&, const Part&) = default;
  };
  /// Where numbers come from: a tensor of the batch.
  struct Origin {
    int input = -1;
    Part part = {};
    bool in_order = true;
  };
  /// Numbers count where those of another tensor are not `absent`.
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
