#include "etude/execution/cost.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "etude/base/detail/device_libraries.hpp"

namespace etude {

using instruction::Access;
using instruction::Attention;
using instruction::AttentionGradient;
using instruction::Convolution;
using instruction::ConvolutionFilter;
using instruction::ConvolutionInput;
using instruction::ConvolutionShape;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::MaxPool;
using instruction::PoolGather;
using instruction::Pooling;
using instruction::PoolScatter;
using instruction::Segment;

void MemoryRanges::add(const Operand& operand, std::int64_t elements, bool is_written) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(operand.dtype));
  all_.push_back({operand.space, operand.offset, operand.space < 0 ? 0 : bytes, is_written});
}

namespace {

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

void list_epilogue(const std::optional<Elementwise>& epilogue, MemoryRanges& ranges) {
  if (epilogue) epilogue->list_memory(ranges);
}
double with_epilogue(double operations_before, const std::optional<Elementwise>& epilogue) {
  return operations_before + (epilogue ? epilogue->operations() : 0);
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
/// The operations of a convolution or of one of its gradients.
double of_convolution(const ConvolutionShape& shape, const std::optional<Pooling>& pooling,
                      const std::optional<Elementwise>& epilogue) {
  const ConvolutionSizes n(shape, pooling);
  return with_epilogue(2 * size(n.seen) * size(n.cells), epilogue);
}

std::int64_t all_of(const Pooling& p) { return p.batch * p.height * p.width * p.channels; }
std::int64_t pooled_of(const Pooling& p) { return p.batch * p.rows * p.columns * p.channels; }

/// The operands that attention and its gradients share. The gradients read the result.
template <class I> void list_attention(const I& i, MemoryRanges& ranges) {
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
/// Attention with `deep` products along the depth and `wide` ones along the width, and a softmax between them.
double of_attention(const instruction::AttentionShape& s, double deep, double wide) {
  if (!has_device_libraries) return 0;
  return size(s.batch.size() * s.queries * s.keys) * (2 * deep * size(s.depth) + 2 * wide * size(s.width) + 5);
}

void list_ranges(const Instruction& instruction, MemoryRanges& ranges) {
  std::visit([&](const auto& i) { i.list_memory(ranges); }, instruction);
}

Cost& operator+=(Cost& sum, const Cost& more) {
  sum.operations += more.operations;
  sum.bytes += more.bytes;
  return sum;
}

/// Whether a range comes before another: those that are read first, by space and first byte.
bool comes_before(const MemoryRange& a, const MemoryRange& b) {
  if (a.is_written != b.is_written) return b.is_written;
  return a.space != b.space ? a.space < b.space : a.first < b.first;
}

/// The bytes of ranges outside of the arena. What several instructions read counts once, and so does what they write.
double bytes_of_union(const std::vector<MemoryRange>& all) {
  std::vector<MemoryRange> sorted;  // by insertion: they are few, and nearly in order
  for (const MemoryRange& range : all) {
    if (range.space <= 0) continue;
    sorted.push_back(range);
    for (std::size_t i = sorted.size() - 1; i > 0 && comes_before(range, sorted[i - 1]); --i)
      std::swap(sorted[i], sorted[i - 1]);
  }
  double sum = 0;
  const MemoryRange* before = nullptr;
  std::int64_t counted = 0;  // the end of what was counted in the same space
  for (const MemoryRange& range : sorted) {
    if (!before || before->is_written != range.is_written || before->space != range.space) counted = range.first;
    sum += size(std::max<std::int64_t>(range.first + range.bytes - std::max(counted, range.first), 0));
    counted = std::max(counted, range.first + range.bytes);
    before = &range;
  }
  return sum;
}

}  // namespace

void Elementwise::list_memory(MemoryRanges& ranges) const {
  for (const Segment& segment : segments) {
    for (const Access& in : segment.inputs) {
      ranges.read(in.operand, extent_of(in, segment.size));
      ranges.last_counts(in.kind == Access::Kind::contiguous);
    }
    for (const Access& out : segment.outputs) ranges.written(out.operand, segment.size);
  }
}
double Elementwise::operations() const {
  double sum = 0;
  for (const Segment& segment : segments)
    sum += size(static_cast<std::int64_t>(program.steps.size())) * size(segment.size);
  return sum;
}

void Gemm::list_memory(MemoryRanges& ranges) const {
  const std::int64_t products = batch.size();
  ranges.read(a.operand, products * m * k);
  ranges.read(b.operand, products * k * n);
  ranges.written(c.operand, products * m * n);
  list_epilogue(epilogue, ranges);
}
double Gemm::operations() const {
  return with_epilogue(2 * size(m) * size(n) * size(k) * size(batch.size()), epilogue);
}

void Convolution::list_memory(MemoryRanges& ranges) const {
  const ConvolutionSizes n(shape, pooling);
  ranges.read(x, n.x);
  ranges.read(kernel, n.kernel);
  ranges.written(out, n.stored);
  ranges.written(index, n.stored);
  list_epilogue(epilogue, ranges);
}
double Convolution::operations() const { return of_convolution(shape, pooling, epilogue); }

void ConvolutionInput::list_memory(MemoryRanges& ranges) const {
  const ConvolutionSizes n(shape, pooling);
  ranges.read(dy, n.stored);
  ranges.read(index, n.stored);
  ranges.read(kernel, n.kernel);
  ranges.written(out, n.x);
  list_epilogue(epilogue, ranges);
}
double ConvolutionInput::operations() const { return of_convolution(shape, pooling, epilogue); }

void ConvolutionFilter::list_memory(MemoryRanges& ranges) const {
  const ConvolutionSizes n(shape, pooling);
  ranges.read(x, n.x);
  ranges.read(dy, n.stored);
  ranges.read(index, n.stored);
  ranges.written(out, n.kernel);
  list_epilogue(epilogue, ranges);
}
double ConvolutionFilter::operations() const { return of_convolution(shape, pooling, epilogue); }

void MaxPool::list_memory(MemoryRanges& ranges) const {
  ranges.read(in, all_of(pooling));
  ranges.written(out, pooled_of(pooling));
  ranges.written(index, pooled_of(pooling));
}
double MaxPool::operations() const { return size(all_of(pooling)); }

void PoolGather::list_memory(MemoryRanges& ranges) const {
  ranges.read(in, all_of(pooling));
  ranges.read(index, pooled_of(pooling));
  ranges.written(out, pooled_of(pooling));
}
double PoolGather::operations() const { return size(all_of(pooling)); }

void PoolScatter::list_memory(MemoryRanges& ranges) const {
  ranges.read(in, pooled_of(pooling));
  ranges.read(index, pooled_of(pooling));
  ranges.written(out, all_of(pooling));
}
double PoolScatter::operations() const { return size(all_of(pooling)); }

void Attention::list_memory(MemoryRanges& ranges) const { list_attention(*this, ranges); }
double Attention::operations() const { return of_attention(attention, 1, 1); }

void AttentionGradient::list_memory(MemoryRanges& ranges) const {
  if (!has_device_libraries) return;
  const instruction::AttentionShape& s = attention;
  const std::int64_t rows = s.batch.size() * s.queries, columns = s.batch.size() * s.keys;
  list_attention(*this, ranges);
  ranges.read(d_out.operand, rows * s.width);
  ranges.written(d_query.operand, rows * s.depth);
  ranges.written(d_key.operand, columns * s.depth);
  ranges.written(d_value.operand, columns * s.width);
}
double AttentionGradient::operations() const { return of_attention(attention, 3, 2); }

void instruction::AllReduce::list_memory(MemoryRanges& ranges) const {
  for (const auto& [count, in, out] : parts) {
    ranges.read(in, count);
    ranges.written(out, count);
  }
}
double instruction::AllReduce::operations() const {
  double sum = 0;
  for (const auto& part : parts) sum += size(part.count);
  return sum;
}

/// What the body reads and writes outside of its arena, in all steps.
void instruction::Scan::list_memory(MemoryRanges& ranges) const {
  MemoryRanges of_body;
  for (const Instruction& one : body->instructions) list_ranges(one, of_body);
  for (MemoryRange range : of_body.all()) {
    if (range.space <= 0) continue;
    const Space& space = spaces[static_cast<std::size_t>(range.space)];
    range.space = space.operand.space;
    range.first += space.operand.offset;
    if (space.stride > 0) range.bytes += (steps - 1) * space.stride;
    ranges.add(range);
  }
}
double instruction::Scan::operations() const {
  double sum = 0;
  for (const Instruction& one : body->instructions) sum += cost_of(one).operations;
  return sum * size(steps);
}

Cost cost_of(const Instruction& instruction) {
  Cost sum{.operations = std::visit([](const auto& i) { return i.operations(); }, instruction)};
  if (const auto* scan = std::get_if<instruction::Scan>(&instruction)) {
    for (const Instruction& one : scan->body->instructions) sum.bytes += cost_of(one).bytes;
    sum.bytes *= size(scan->steps);
    return sum;
  }
  MemoryRanges ranges;
  list_ranges(instruction, ranges);
  for (const MemoryRange& range : ranges.all()) sum.bytes += range.counts ? size(range.bytes) : 0;
  return sum;
}

StepCost cost_of(const Plan& plan) {
  StepCost result;
  MemoryRanges ranges;
  for (const Instruction& one : plan.instructions()) {
    result.sum += cost_of(one);
    list_ranges(one, ranges);
  }
  result.least_bytes = bytes_of_union(ranges.all());
  return result;
}

}  // namespace etude
