#include "etude/execution/cost.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "etude/execution/device_libraries.hpp"

namespace etude {

using instruction::Access;
using instruction::ArgMax;
using instruction::Attention;
using instruction::AttentionGradient;
using instruction::Convolution;
using instruction::ConvolutionFilter;
using instruction::ConvolutionInput;
using instruction::ConvolutionShape;
using instruction::Copy;
using instruction::Crossentropy;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::MaxPool;
using instruction::OneHot;
using instruction::PoolGather;
using instruction::Pooling;
using instruction::PoolScatter;
using instruction::Reduce;
using instruction::Segment;

namespace {

/// A range of memory that an instruction reads or writes.
struct Range {
  std::int32_t space;
  std::int64_t first, bytes;
  bool is_written;
  /// Whether it counts in the instruction's cost. Operands that are read through strides, such as a bias or a slice,
  /// count where they were written.
  bool counts = true;
};
/// The ranges of an instruction.
class Ranges {
 public:
  void read(const Operand& operand, std::int64_t elements) { add(operand, elements, false); }
  void written(const Operand& operand, std::int64_t elements) { add(operand, elements, true); }
  void add(const Range& range) { all_.push_back(range); }
  void last_counts(bool counts) { all_.back().counts = counts; }
  std::vector<Range>& all() { return all_; }

 private:
  void add(const Operand& operand, std::int64_t elements, bool is_written) {
    const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(operand.dtype));
    all_.push_back({operand.space, operand.offset, operand.space < 0 ? 0 : bytes, is_written});
  }
  std::vector<Range> all_;
};

double size(std::int64_t n) { return static_cast<double>(n); }

/// The number of elements between the first and the last that an access reads, both included.
std::int64_t extent_of(const Access& access, std::int64_t size) {
  if (access.kind != Access::Kind::strided) return access.kind == Access::Kind::scalar ? 1 : size;
  std::int64_t last = 0;
  for (std::size_t axis = 0; axis < access.extents.rank(); ++axis)
    last += (access.extents[static_cast<std::ptrdiff_t>(axis)] - 1) *
            std::abs(access.strides[static_cast<std::ptrdiff_t>(axis)]);
  return size == 0 ? 0 : last + 1;
}

void list(const Elementwise& i, Ranges& ranges) {
  for (const Segment& segment : i.segments) {
    for (const Access& in : segment.inputs) {
      ranges.read(in.operand, extent_of(in, segment.size));
      ranges.last_counts(in.kind == Access::Kind::contiguous);
    }
    for (const Access& out : segment.outputs) ranges.written(out.operand, segment.size);
  }
}
void list(const std::optional<Elementwise>& epilogue, Ranges& ranges) {
  if (epilogue) list(*epilogue, ranges);
}
void list(const Gemm& g, Ranges& ranges) {
  const std::int64_t batch = g.batch.size();
  ranges.read(g.a.operand, batch * g.m * g.k);
  ranges.read(g.b.operand, batch * g.k * g.n);
  ranges.written(g.c.operand, batch * g.m * g.n);
  list(g.epilogue, ranges);
}

/// The numbers of elements of a convolution's x and kernel, of its whole result, and of the result that is stored.
struct ConvolutionSizes {
  std::int64_t x, kernel, cells, seen, stored;

  ConvolutionSizes(const ConvolutionShape& s, const std::optional<Pooling>& pooling)
      : x(s.batch * s.height * s.width * s.channels),
        kernel(s.window.extent[0] * s.window.extent[1] * (s.channels / s.groups) * s.filters),
        cells(s.window.extent[0] * s.window.extent[1] * (s.channels / s.groups)),
        seen(s.batch * s.rows * s.columns * s.filters),
        stored(pooling ? s.batch * pooling->rows * pooling->columns * s.filters : seen) {}
};
void list(const Convolution& i, Ranges& ranges) {
  const ConvolutionSizes n(i.shape, i.pooling);
  ranges.read(i.x, n.x);
  ranges.read(i.kernel, n.kernel);
  ranges.written(i.out, n.stored);
  ranges.written(i.index, n.stored);
  list(i.epilogue, ranges);
}
void list(const ConvolutionInput& i, Ranges& ranges) {
  const ConvolutionSizes n(i.shape, i.pooling);
  ranges.read(i.dy, n.stored);
  ranges.read(i.index, n.stored);
  ranges.read(i.kernel, n.kernel);
  ranges.written(i.out, n.x);
  list(i.epilogue, ranges);
}
void list(const ConvolutionFilter& i, Ranges& ranges) {
  const ConvolutionSizes n(i.shape, i.pooling);
  ranges.read(i.x, n.x);
  ranges.read(i.dy, n.stored);
  ranges.read(i.index, n.stored);
  ranges.written(i.out, n.kernel);
  list(i.epilogue, ranges);
}

std::int64_t all_of(const Pooling& p) { return p.batch * p.height * p.width * p.channels; }
std::int64_t pooled_of(const Pooling& p) { return p.batch * p.rows * p.columns * p.channels; }
void list(const MaxPool& i, Ranges& ranges) {
  ranges.read(i.in, all_of(i.pooling));
  ranges.written(i.out, pooled_of(i.pooling));
  ranges.written(i.index, pooled_of(i.pooling));
}
void list(const PoolGather& i, Ranges& ranges) {
  ranges.read(i.in, all_of(i.pooling));
  ranges.read(i.index, pooled_of(i.pooling));
  ranges.written(i.out, pooled_of(i.pooling));
}
void list(const PoolScatter& i, Ranges& ranges) {
  ranges.read(i.in, pooled_of(i.pooling));
  ranges.read(i.index, pooled_of(i.pooling));
  ranges.written(i.out, all_of(i.pooling));
}

void list(const Reduce& i, Ranges& ranges) {
  ranges.read(i.in, i.outer * i.count * i.inner);
  ranges.written(i.out, i.outer * i.inner);
}
void list(const ArgMax& i, Ranges& ranges) {
  ranges.read(i.in, i.rows * i.count);
  ranges.written(i.out, i.rows);
}
void list(const OneHot& i, Ranges& ranges) {
  ranges.read(i.labels, i.rows);
  ranges.written(i.out, i.rows * i.depth);
}
void list(const instruction::Gather& i, Ranges& ranges) {
  ranges.read(i.indices, i.count);
  ranges.read(i.table, std::min(i.count, i.rows) * i.width);
  ranges.written(i.out, i.count * i.width);
}
void list(const instruction::ScatterAdd& i, Ranges& ranges) {
  ranges.read(i.indices, i.count);
  ranges.read(i.in, i.count * i.width);
  ranges.read(i.out, std::min(i.count, i.rows) * i.width);
  ranges.written(i.out, i.rows * i.width);
}
void list(const instruction::Softmax& i, Ranges& ranges) {
  ranges.read(i.in, i.rows * i.count);
  ranges.written(i.out, i.rows * i.count);
}
void list(const Crossentropy& i, Ranges& ranges) {
  ranges.read(i.logits, i.rows * i.count);
  ranges.read(i.targets, i.sparse ? i.rows : i.rows * i.count);
  ranges.written(i.losses, i.rows);
}
/// The operands that attention and its gradients share. The gradients read the result.
template <class I> void list_attention(const I& i, Ranges& ranges) {
  if (!has_device_libraries) return;
  const instruction::AttentionShape& s = i.attention;
  const std::int64_t rows = s.batch.size() * s.queries, columns = s.batch.size() * s.keys;
  ranges.read(i.query.operand, rows * s.depth);
  ranges.read(i.key.operand, columns * s.depth);
  ranges.read(i.value.operand, columns * s.width);
  ranges.read(i.mask.operand, s.queries * s.keys);
  ranges.written(i.out.operand, rows * s.width);
  ranges.written(i.statistics, 2 * rows);
}
void list(const Attention& i, Ranges& ranges) { list_attention(i, ranges); }
void list(const AttentionGradient& i, Ranges& ranges) {
  if (!has_device_libraries) return;
  const instruction::AttentionShape& s = i.attention;
  const std::int64_t rows = s.batch.size() * s.queries, columns = s.batch.size() * s.keys;
  list_attention(i, ranges);
  ranges.read(i.d_out.operand, rows * s.width);
  ranges.written(i.d_query.operand, rows * s.depth);
  ranges.written(i.d_key.operand, columns * s.depth);
  ranges.written(i.d_value.operand, columns * s.width);
}
void list(const instruction::Transpose& i, Ranges& ranges) {
  ranges.read(i.in, i.extents.size());
  ranges.written(i.out, i.extents.size());
}
void list(const instruction::Uniform& i, Ranges& ranges) { ranges.written(i.out, i.count); }
void list(const Copy& i, Ranges& ranges) {
  ranges.add({i.in.space, i.in.offset, i.bytes, false});
  ranges.add({i.out.space, i.out.offset, i.bytes, true});
}
void list(const instruction::AwaitSums&, Ranges&) {}
void list(const instruction::AllReduce& i, Ranges& ranges) {
  for (const auto& [count, in, out] : i.parts) {
    ranges.read(in, count);
    ranges.written(out, count);
  }
}
void list(const instruction::Scan& i, Ranges& ranges);

void list_ranges(const Instruction& instruction, Ranges& ranges) {
  std::visit([&](const auto& i) { list(i, ranges); }, instruction);
}

/// The bytes that the body reads and writes outside of its arena, in all steps.
void list(const instruction::Scan& i, Ranges& ranges) {
  Ranges of_body;
  for (const Instruction& one : i.body->instructions) list_ranges(one, of_body);
  for (Range range : of_body.all()) {
    if (range.space <= 0) continue;
    const instruction::Scan::Space& space = i.spaces[static_cast<std::size_t>(range.space)];
    range.space = space.operand.space;
    range.first += space.operand.offset;
    if (space.stride > 0) range.bytes += (i.steps - 1) * space.stride;
    ranges.add(range);
  }
}

double operations(const Elementwise& i) {
  double sum = 0;
  for (const Segment& segment : i.segments)
    sum += size(static_cast<std::int64_t>(i.program.steps.size())) * size(segment.size);
  return sum;
}
double with_epilogue(double operations_before, const std::optional<Elementwise>& epilogue) {
  return operations_before + (epilogue ? operations(*epilogue) : 0);
}
double operations(const Gemm& g) {
  return with_epilogue(2 * size(g.m) * size(g.n) * size(g.k) * size(g.batch.size()), g.epilogue);
}
double operations(const Reduce& i) { return size(i.outer * i.count * i.inner); }
double operations(const ArgMax& i) { return size(i.rows * i.count); }
double operations(const instruction::ScatterAdd& i) { return size(i.count * i.width); }
/// Per element: the maximum, the difference, the exponential, the sum, the quotient.
double operations(const instruction::Softmax& i) { return 5 * size(i.rows * i.count); }
double operations(const Crossentropy& i) { return 4 * size(i.rows * i.count); }
/// Attention with `deep` products along the depth and `wide` ones along the width, and a softmax between them.
double attention(const instruction::AttentionShape& s, double deep, double wide) {
  if (!has_device_libraries) return 0;
  return size(s.batch.size() * s.queries * s.keys) * (2 * deep * size(s.depth) + 2 * wide * size(s.width) + 5);
}
double operations(const Attention& i) { return attention(i.attention, 1, 1); }
double operations(const AttentionGradient& i) { return attention(i.attention, 3, 2); }
double operations(const instruction::AllReduce& i) {
  double sum = 0;
  for (const auto& part : i.parts) sum += size(part.count);
  return sum;
}
template <class I> double operations(const I& i) {
  if constexpr (requires { i.shape; }) {
    const ConvolutionSizes n(i.shape, i.pooling);
    return with_epilogue(2 * size(n.seen) * size(n.cells), i.epilogue);
  } else if constexpr (requires { i.pooling; }) {
    return size(all_of(i.pooling));
  } else {
    return 0;
  }
}

Cost& operator+=(Cost& sum, const Cost& more) {
  sum.operations += more.operations;
  sum.bytes += more.bytes;
  return sum;
}

/// Whether a range comes before another: those that are read first, by space and first byte.
bool comes_before(const Range& a, const Range& b) {
  if (a.is_written != b.is_written) return b.is_written;
  return a.space != b.space ? a.space < b.space : a.first < b.first;
}

/// The bytes of ranges outside of the arena. A range that several instructions read counts once, and so does a range
/// that several write.
double bytes_of_union(const std::vector<Range>& all) {
  std::vector<Range> sorted;  // by insertion: they are few, and nearly in order
  for (const Range& range : all) {
    if (range.space <= 0) continue;
    sorted.push_back(range);
    for (std::size_t i = sorted.size() - 1; i > 0 && comes_before(range, sorted[i - 1]); --i)
      std::swap(sorted[i], sorted[i - 1]);
  }
  double sum = 0;
  const Range* before = nullptr;
  std::int64_t counted = 0;  // the end of what was counted in the same space
  for (const Range& range : sorted) {
    if (!before || before->is_written != range.is_written || before->space != range.space) counted = range.first;
    sum += size(std::max<std::int64_t>(range.first + range.bytes - std::max(counted, range.first), 0));
    counted = std::max(counted, range.first + range.bytes);
    before = &range;
  }
  return sum;
}

}  // namespace

Cost cost_of(const Instruction& instruction) {
  Cost sum;
  if (const auto* scan = std::get_if<instruction::Scan>(&instruction)) {
    for (const Instruction& one : scan->body->instructions) sum += cost_of(one);
    return {sum.operations * size(scan->steps), sum.bytes * size(scan->steps)};
  }
  sum.operations = std::visit([](const auto& i) { return operations(i); }, instruction);
  Ranges ranges;
  list_ranges(instruction, ranges);
  for (const Range& range : ranges.all()) sum.bytes += range.counts ? size(range.bytes) : 0;
  return sum;
}

StepCost cost_of(const Plan& plan) {
  StepCost result;
  Ranges ranges;
  for (const Instruction& one : plan.instructions()) {
    result.sum += cost_of(one);
    list_ranges(one, ranges);
  }
  result.least_bytes = bytes_of_union(ranges.all());
  return result;
}

}  // namespace etude
