#include "etude/execution/cost.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

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
using Ranges = std::vector<Range>;

Range range(const Operand& operand, std::int64_t elements, bool is_written) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(operand.dtype));
  return {operand.space, operand.offset, operand.space < 0 ? 0 : bytes, is_written};
}
Range read(const Operand& operand, std::int64_t elements) { return range(operand, elements, false); }
Range written(const Operand& operand, std::int64_t elements) { return range(operand, elements, true); }

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

void add(Ranges& ranges, const Elementwise& i) {
  for (const Segment& segment : i.segments) {
    for (const Access& in : segment.inputs) {
      ranges.push_back(read(in.operand, extent_of(in, segment.size)));
      ranges.back().counts = in.kind == Access::Kind::contiguous;
    }
    for (const Access& out : segment.outputs) ranges.push_back(written(out.operand, segment.size));
  }
}

Ranges with_epilogue(Ranges ranges, const std::optional<Elementwise>& epilogue) {
  if (epilogue) add(ranges, *epilogue);
  return ranges;
}

Ranges ranges(const Elementwise& i) {
  Ranges all;
  add(all, i);
  return all;
}
Ranges ranges(const Gemm& g) {
  const std::int64_t batch = g.batch.size();
  return with_epilogue({read(g.a.operand, batch * g.m * g.k), read(g.b.operand, batch * g.k * g.n),
                        written(g.c.operand, batch * g.m * g.n)},
                       g.epilogue);
}

/// The numbers of elements of a convolution's x and kernel, of its whole result, and of the result that is stored.
struct ConvolutionSizes {
  std::int64_t x, kernel, cells, seen, stored;
};
template <class I> ConvolutionSizes sizes_of(const I& i) {
  const ConvolutionShape& s = i.shape;
  const std::int64_t cells = s.window.extent[0] * s.window.extent[1] * (s.channels / s.groups);
  const std::int64_t seen = s.batch * s.rows * s.columns * s.filters;
  return {s.batch * s.height * s.width * s.channels, cells * s.filters, cells, seen,
          i.pooling ? s.batch * i.pooling->rows * i.pooling->columns * s.filters : seen};
}
Ranges ranges(const Convolution& i) {
  const ConvolutionSizes n = sizes_of(i);
  return with_epilogue({read(i.x, n.x), read(i.kernel, n.kernel), written(i.out, n.stored), written(i.index, n.stored)},
                       i.epilogue);
}
Ranges ranges(const ConvolutionInput& i) {
  const ConvolutionSizes n = sizes_of(i);
  return with_epilogue({read(i.dy, n.stored), read(i.index, n.stored), read(i.kernel, n.kernel), written(i.out, n.x)},
                       i.epilogue);
}
Ranges ranges(const ConvolutionFilter& i) {
  const ConvolutionSizes n = sizes_of(i);
  return with_epilogue({read(i.x, n.x), read(i.dy, n.stored), read(i.index, n.stored), written(i.out, n.kernel)},
                       i.epilogue);
}

std::int64_t all_of(const Pooling& p) { return p.batch * p.height * p.width * p.channels; }
std::int64_t pooled_of(const Pooling& p) { return p.batch * p.rows * p.columns * p.channels; }
Ranges ranges(const MaxPool& i) {
  const std::int64_t pooled = pooled_of(i.pooling);
  return {read(i.in, all_of(i.pooling)), written(i.out, pooled), written(i.index, pooled)};
}
Ranges ranges(const PoolGather& i) {
  const std::int64_t pooled = pooled_of(i.pooling);
  return {read(i.in, all_of(i.pooling)), read(i.index, pooled), written(i.out, pooled)};
}
Ranges ranges(const PoolScatter& i) {
  const std::int64_t pooled = pooled_of(i.pooling);
  return {read(i.in, pooled), read(i.index, pooled), written(i.out, all_of(i.pooling))};
}

Ranges ranges(const Reduce& i) { return {read(i.in, i.outer * i.count * i.inner), written(i.out, i.outer * i.inner)}; }
Ranges ranges(const ArgMax& i) { return {read(i.in, i.rows * i.count), written(i.out, i.rows)}; }
Ranges ranges(const OneHot& i) { return {read(i.labels, i.rows), written(i.out, i.rows * i.depth)}; }
Ranges ranges(const instruction::Gather& i) {
  const std::int64_t rows = std::min(i.count, i.rows);
  return {read(i.indices, i.count), read(i.table, rows * i.width), written(i.out, i.count * i.width)};
}
Ranges ranges(const instruction::ScatterAdd& i) {
  return {read(i.indices, i.count), read(i.in, i.count * i.width), read(i.out, std::min(i.count, i.rows) * i.width),
          written(i.out, i.rows * i.width)};
}
Ranges ranges(const instruction::Softmax& i) {
  return {read(i.in, i.rows * i.count), written(i.out, i.rows * i.count)};
}
Ranges ranges(const Crossentropy& i) {
  return {read(i.logits, i.rows * i.count), read(i.targets, i.sparse ? i.rows : i.rows * i.count),
          written(i.losses, i.rows)};
}
/// The numbers of elements of attention's operands.
struct AttentionSizes {
  std::int64_t rows, query, key, value, mask, out;

  explicit AttentionSizes(const instruction::AttentionShape& s)
      : rows(s.batch.size() * s.queries),
        query(rows * s.depth),
        key(s.batch.size() * s.keys * s.depth),
        value(s.batch.size() * s.keys * s.width),
        mask(s.queries * s.keys),
        out(rows * s.width) {}
};
Ranges ranges(const Attention& i) {
  const AttentionSizes n(i.attention);
  return {read(i.query.operand, n.query), read(i.key.operand, n.key),    read(i.value.operand, n.value),
          read(i.mask.operand, n.mask),   written(i.out.operand, n.out), written(i.statistics, 2 * n.rows)};
}
Ranges ranges(const AttentionGradient& i) {
  const AttentionSizes n(i.attention);
  return {read(i.query.operand, n.query),     read(i.key.operand, n.key),          read(i.value.operand, n.value),
          read(i.mask.operand, n.mask),       read(i.out.operand, n.out),          read(i.statistics, 2 * n.rows),
          read(i.d_out.operand, n.out),       written(i.d_query.operand, n.query), written(i.d_key.operand, n.key),
          written(i.d_value.operand, n.value)};
}
Ranges ranges(const instruction::Transpose& i) {
  return {read(i.in, i.extents.size()), written(i.out, i.extents.size())};
}
Ranges ranges(const instruction::Uniform& i) { return {written(i.out, i.count)}; }
Ranges ranges(const Copy& i) {
  return {{i.in.space, i.in.offset, i.bytes, false}, {i.out.space, i.out.offset, i.bytes, true}};
}
Ranges ranges(const instruction::AwaitSums&) { return {}; }
Ranges ranges(const instruction::AllReduce& i) {
  Ranges all;
  for (const auto& [count, in, out] : i.parts) {
    all.push_back(read(in, count));
    all.push_back(written(out, count));
  }
  return all;
}
Ranges ranges(const instruction::Scan& i);

Ranges ranges_of(const Instruction& instruction) {
  return std::visit([](const auto& i) { return ranges(i); }, instruction);
}

/// What the body reads and writes outside of its arena, in all steps.
Ranges ranges(const instruction::Scan& i) {
  Ranges all;
  for (const Instruction& one : i.body->instructions)
    for (Range range : ranges_of(one)) {
      if (range.space <= 0) continue;
      const instruction::Scan::Space& space = i.spaces[static_cast<std::size_t>(range.space)];
      range.space = space.operand.space;
      range.first += space.operand.offset;
      if (space.stride > 0) range.bytes += (i.steps - 1) * space.stride;
      all.push_back(range);
    }
  return all;
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
    const ConvolutionSizes n = sizes_of(i);
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

Cost cost(const instruction::Scan& i) {
  Cost sum;
  for (const Instruction& one : i.body->instructions) sum += cost_of(one);
  return {sum.operations * size(i.steps), sum.bytes * size(i.steps)};
}
template <class I> Cost cost(const I& i) {
  Cost sum{operations(i), 0};
  for (const Range& range : ranges(i)) sum.bytes += range.counts ? size(range.bytes) : 0;
  return sum;
}

/// The bytes of ranges outside of the arena. What several instructions read counts once, and so does what they write.
double bytes_of_union(Ranges all) {
  std::erase_if(all, [](const Range& range) { return range.space <= 0; });
  std::ranges::sort(all, {}, [](const Range& range) { return std::tuple(range.is_written, range.space, range.first); });
  double sum = 0;
  const Range* before = nullptr;
  std::int64_t end = 0;  // of the ranges before, in the same space
  for (const Range& range : all) {
    if (!before || before->is_written != range.is_written || before->space != range.space) end = range.first;
    sum += size(std::max<std::int64_t>(range.first + range.bytes - std::max(end, range.first), 0));
    end = std::max(end, range.first + range.bytes);
    before = &range;
  }
  return sum;
}

}  // namespace

Cost cost_of(const Instruction& instruction) {
  return std::visit([](const auto& i) { return cost(i); }, instruction);
}

StepCost cost_of(const Plan& plan) {
  StepCost result;
  Ranges all;
  for (const Instruction& one : plan.instructions()) {
    result.sum += cost_of(one);
    for (const Range& range : ranges_of(one)) all.push_back(range);
  }
  result.least_bytes = bytes_of_union(std::move(all));
  return result;
}

}  // namespace etude
