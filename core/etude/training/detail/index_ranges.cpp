#include "etude/training/detail/index_ranges.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

template <class... Ops> bool is_one_of(const Op& op) { return (std::holds_alternative<Ops>(op) || ...); }

/// Whether a dtype represents the integers exactly.
bool keeps_numbers(DType dtype) { return size_of(dtype) >= 4; }

const Tensor& tensor_at(const Batch& batch, int index) {
  const Tensor* result = nullptr;
  for_each_tensor(batch, [&](const Tensor& tensor) {
    if (index-- == 0) result = &tensor;
  });
  return *result;
}

/// "y", or "y[1]" if there are several.
std::string name_at(const Batch& batch, int index) {
  const std::pair<const char*, const std::vector<Tensor>*> groups[] = {
      {"x", &batch.x}, {"y", &batch.y}, {"sample_weight", &batch.sample_weight}};
  for (const auto& [name, tensors] : groups) {
    const int count = static_cast<int>(tensors->size());
    if (index < count) return name + (count > 1 ? '[' + std::to_string(index) + ']' : "");
    index -= count;
  }
  return "mask";
}

/// The common value of a node's elements, if the node is a constant.
std::optional<double> constant_of(const Graph& graph, NodeId id) {
  while (is_one_of<op::Broadcast, op::Cast>(graph.node(id).op)) id = graph.node(id).inputs.front();
  const auto* constant = std::get_if<op::Constant>(&graph.node(id).op);
  return constant ? std::optional(constant->value) : std::nullopt;
}

/// Calls visit(begin, end) for each run of elements.
template <class Part, class Visit> void for_each_run(const Part& part, std::int64_t size, Visit&& visit) {
  if (part.period == 0) return visit(std::int64_t{0}, size);
  for (std::int64_t begin = part.first; begin < size; begin += part.period) visit(begin, begin + part.length);
}

std::string number_text(double number) {
  return std::trunc(number) == number && std::abs(number) < 1e15 ? std::to_string(static_cast<std::int64_t>(number))
                                                                 : shortest(number);
}

}  // namespace

/// Traces indices back to the batch, through ops that only move elements.
std::optional<IndexRanges::Origin> IndexRanges::origin_of(const Graph& graph, NodeId id) {
  Origin origin;
  for (;; id = graph.node(id).inputs.front()) {
    const Op& op = graph.node(id).op;
    if (const auto* input = std::get_if<op::Input>(&op)) {
      origin.input = input->index;
      return origin;
    }
    if (is_one_of<op::StopGradient>(op)) continue;
    if (const auto* cast = std::get_if<op::Cast>(&op)) {
      if (!keeps_numbers(cast->dtype)) return {};
      continue;
    }
    // Under a slice, elements must be in the order of the batch.
    if (origin.part.period) return {};
    if (const auto* slice = std::get_if<op::Slice>(&op)) {
      const Shape& shape = graph.node(graph.node(id).inputs.front()).shape;
      if (slice->axis == 0) return {};
      const std::int64_t inner = shape.slice(slice->axis + std::size_t{1}, shape.rank()).size();
      origin.part = {shape[slice->axis] * inner, slice->first * inner, slice->count * inner};
      origin.in_order = false;
      if (origin.part.period == 0) return {};
      continue;
    }
    if (!is_one_of<op::Reshape, op::Transpose, op::Reverse, op::Broadcast>(op)) return {};
    origin.in_order = origin.in_order && is_one_of<op::Reshape>(op);
  }
}

/// A mask of the batch, or a mask that compares another tensor of the batch with a number, as in Embedding.
std::optional<IndexRanges::Mask> IndexRanges::mask_of(const Graph& graph, NodeId id) {
  const auto in_order = [&](NodeId from, double absent) -> std::optional<Mask> {
    const std::optional<Origin> origin = origin_of(graph, from);
    return origin && origin->in_order ? std::optional(Mask{origin->input, absent}) : std::nullopt;
  };
  if (const auto own = in_order(id, 0)) return own;
  if (!is_one_of<op::LogicalNot>(graph.node(id).op)) return {};
  const Node& equal = graph.node(graph.node(id).inputs.front());
  if (!is_one_of<op::Equal>(equal.op)) return {};
  const std::optional<double> absent = constant_of(graph, equal.inputs[1]);
  return absent ? in_order(equal.inputs[0], *absent) : std::nullopt;
}

IndexRanges::IndexRanges(const Graph& graph) {
  for (const ExpectedRange& expected : graph.expected()) {
    const std::optional<Origin> origin = origin_of(graph, expected.numbers);
    if (!origin) continue;
    const bool masked = expected.mask >= 0;
    const std::optional<Mask> mask = masked ? mask_of(graph, expected.mask) : std::nullopt;
    if (masked && (!mask || !origin->in_order)) continue;
    const Range range{*origin, expected, mask};
    if (std::ranges::none_of(ranges_, [&](const Range& known) { return covers(known, range); }))
      ranges_.push_back(range);
  }
}

/// Whether every number that fits `known` also fits `other`.
bool IndexRanges::covers(const Range& known, const Range& other) {
  return known.origin.input == other.origin.input && known.origin.part == other.origin.part &&
         known.expected.count == other.expected.count &&
         (!known.expected.ignored || known.expected.ignored == other.expected.ignored) &&
         (!known.mask || known.mask == other.mask);
}

void IndexRanges::check(const Batch& batch, Purpose purpose) const {
  for (const Range& range : ranges_)
    if (!holds(tensor_at(batch, range.origin.input), range)) [[unlikely]]
      check_each(batch, range, purpose);
}

/// Whether all numbers are in their range, ignoring the mask. It checks all of them, in one pass without branches.
bool IndexRanges::holds(const Tensor& tensor, const Range& range) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const auto none = [&]<class T>(const T* data, auto outside) {
    std::uint32_t found = 0;
    for_each_run(range.origin.part, tensor.size(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) found |= static_cast<std::uint32_t>(outside(data[i]));
    });
    return found == 0;
  };
  const std::int64_t count = range.expected.count, ignored = range.expected.ignored.value_or(0);
  if (tensor.dtype() == DType::int32 && std::abs(ignored) <= most)
    return none(tensor.data<std::int32_t>().data(), [end = static_cast<std::uint32_t>(std::min(count, most + 1)),
                                                     other = static_cast<std::int32_t>(ignored)](std::int32_t number) {
      return int{static_cast<std::uint32_t>(number) >= end} & int{number != other};
    });
  if (tensor.dtype() == DType::float32)
    return none(tensor.data<float>().data(),
                [end = static_cast<float>(count), other = static_cast<float>(ignored)](float number) {
                  return (int{!(number > -1)} | int{!(number < end)}) & int{number != other};
                });
  if (size_of(tensor.dtype()) == 1)
    return none(reinterpret_cast<const std::uint8_t*>(tensor.raw()),
                [end = static_cast<int>(std::min<std::int64_t>(count, 256)), other = ignored](std::uint8_t number) {
                  return int{number >= end} & int{number != other};
                });
  return false;  // the caller checks other dtypes number by number
}

void IndexRanges::check_each(const Batch& batch, const Range& range, Purpose purpose) {
  const ExpectedRange& expected = range.expected;
  const Tensor& tensor = tensor_at(batch, range.origin.input);
  const Tensor* mask = range.mask ? &tensor_at(batch, range.mask->input) : nullptr;
  const auto fits = [&](std::int64_t i) {
    const double number = tensor.at(i);
    if (number > -1 && number < static_cast<double>(expected.count)) return true;
    if (expected.ignored && std::trunc(number) == static_cast<double>(*expected.ignored)) return true;
    return mask && mask->size() <= tensor.size() && mask->at(i / (tensor.size() / mask->size())) == range.mask->absent;
  };
  for_each_run(range.origin.part, tensor.size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      if (!fits(i)) [[unlikely]] {
        const std::int64_t rows = tensor.shape().rank() ? tensor.shape()[0] : 1, row = i / (tensor.size() / rows);
        const bool known = batch.numbers.first >= 0;
        fail(ErrorKind::data, expected.where, expected.what, ' ', number_text(tensor.at(i)), " in row ",
             known ? batch.numbers.at(row) : row, " of ", name_at(batch, range.origin.input),
             known ? "" : " of this batch", purpose == Purpose::validation ? " of the validation data" : "",
             " - expected 0 to ", expected.count - 1, ", because there are ", expected.count, ' ', expected.of, " - ",
             expected.advice, '.');
      }
  });
}

}  // namespace etude
