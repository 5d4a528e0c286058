#include "etude/execution/explain.hpp"

#include <array>
#include <utility>

#include "etude/base/number.hpp"

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
using instruction::Opcode;
using instruction::PoolGather;
using instruction::Pooling;
using instruction::PoolScatter;
using instruction::Program;
using instruction::Reduce;
using instruction::Segment;

namespace {

std::string_view name_of_code(Opcode code) {
  static constexpr auto names = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, sizeof...(I)>{struct_name<std::tuple_element_t<I, op::Elementwise>>()...};
  }(std::make_index_sequence<instruction::elementwise_count>{});
  if (code < instruction::elementwise_count) return names[code];
  switch (code) {
    case instruction::convert_code: return "Convert";
    case instruction::truth_code: return "Truth";
    case instruction::byte_code: return "Byte";
    case instruction::float16_code: return "Float16";
    case instruction::bfloat16_code: return "BFloat16";
    case instruction::sum_code: return "RowSum";
    case instruction::max_code: return "RowMax";
    default: return "Spread";
  }
}

double size(std::int64_t n) { return static_cast<double>(n); }
double bytes(const Operand& operand, std::int64_t elements) {
  return operand.space < 0 ? 0 : size(elements) * size(static_cast<std::int64_t>(size_of(operand.dtype)));
}

Cost& operator+=(Cost& sum, const Cost& more) {
  sum.operations += more.operations;
  sum.bytes += more.bytes;
  return sum;
}

/// The cost of a program. Operands that are read through strides, such as a bias or a slice, count where they were
/// written.
Cost cost(const Elementwise& program) {
  Cost sum;
  for (const Segment& segment : program.segments) {
    sum.operations += size(static_cast<std::int64_t>(program.program.steps.size())) * size(segment.size);
    for (const Access& in : segment.inputs)
      sum.bytes += in.kind == Access::Kind::contiguous ? bytes(in.operand, segment.size) : 0;
    for (const Access& out : segment.outputs) sum.bytes += bytes(out.operand, segment.size);
  }
  return sum;
}

Cost with_epilogue(Cost sum, const std::optional<Elementwise>& epilogue) {
  if (epilogue) sum += cost(*epilogue);
  return sum;
}

Cost cost(const Gemm& g) {
  const std::int64_t batch = g.batch.size();
  return with_epilogue({2 * size(g.m) * size(g.n) * size(g.k) * size(batch), bytes(g.a.operand, batch * g.m * g.k) +
                                                                                 bytes(g.b.operand, batch * g.k * g.n) +
                                                                                 bytes(g.c.operand, batch * g.m * g.n)},
                       g.epilogue);
}

/// The cost of a convolution with x, kernel and y. One of the three is its result.
template <class I> Cost convolution(const I& i, const Operand& x, const Operand& kernel, const Operand& y) {
  const ConvolutionShape& s = i.shape;
  const std::int64_t cells = s.window.extent[0] * s.window.extent[1] * (s.channels / s.groups);
  const std::int64_t seen = s.batch * s.rows * s.columns * s.filters;
  const std::int64_t kept = i.pooling ? s.batch * i.pooling->rows * i.pooling->columns * s.filters : seen;
  return with_epilogue(
      {2 * size(seen) * size(cells), bytes(x, s.batch * s.height * s.width * s.channels) +
                                         bytes(kernel, cells * s.filters) + bytes(y, kept) + bytes(i.index, kept)},
      i.epilogue);
}
Cost cost(const Convolution& i) { return convolution(i, i.x, i.kernel, i.out); }
Cost cost(const ConvolutionInput& i) { return convolution(i, i.out, i.kernel, i.dy); }
Cost cost(const ConvolutionFilter& i) { return convolution(i, i.x, i.out, i.dy); }

template <class I> Cost pooled(const I& i, const Operand& whole) {
  const Pooling& p = i.pooling;
  const std::int64_t all = p.batch * p.height * p.width * p.channels, kept = p.batch * p.rows * p.columns * p.channels;
  return {size(all), bytes(whole, all) + bytes(i.index, kept) + bytes(whole, kept)};
}
Cost cost(const MaxPool& i) { return pooled(i, i.in); }
Cost cost(const PoolGather& i) { return pooled(i, i.in); }
Cost cost(const PoolScatter& i) { return pooled(i, i.out); }

Cost cost(const Reduce& i) {
  const std::int64_t all = i.outer * i.count * i.inner;
  return {size(all), bytes(i.in, all) + bytes(i.out, i.outer * i.inner)};
}
Cost cost(const ArgMax& i) { return {size(i.rows * i.count), bytes(i.in, i.rows * i.count) + bytes(i.out, i.rows)}; }
Cost cost(const OneHot& i) { return {0, bytes(i.labels, i.rows) + bytes(i.out, i.rows * i.depth)}; }
Cost cost(const instruction::Gather& i) {
  return {0, bytes(i.indices, i.count) + bytes(i.table, i.count * i.width) + bytes(i.out, i.count * i.width)};
}
Cost cost(const instruction::ScatterAdd& i) {
  const std::int64_t read = i.count * i.width;
  return {size(read), bytes(i.indices, i.count) + bytes(i.in, read) + bytes(i.out, i.rows * i.width + read)};
}
/// Per element: the maximum, the difference, the exponential, the sum, the quotient.
Cost cost(const instruction::Softmax& i) {
  return {5 * size(i.rows * i.count), bytes(i.in, i.rows * i.count) + bytes(i.out, i.rows * i.count)};
}
Cost cost(const Crossentropy& i) {
  return {4 * size(i.rows * i.count), bytes(i.logits, i.rows * i.count) +
                                          bytes(i.targets, i.sparse ? i.rows : i.rows * i.count) +
                                          bytes(i.losses, i.rows)};
}
/// Attention with `deep` products along the depth and `wide` ones along the width, a softmax between them. The operands
/// and results are those that the instruction and its gradients share.
template <class I> Cost attention(const I& i, double deep, double wide) {
  const instruction::AttentionShape& s = i.attention;
  const std::int64_t rows = s.batch.size() * s.queries, columns = s.batch.size() * s.keys;
  return {size(rows * s.keys) * (2 * deep * size(s.depth) + 2 * wide * size(s.width) + 5),
          bytes(i.query.operand, rows * s.depth) + bytes(i.key.operand, columns * s.depth) +
              bytes(i.value.operand, columns * s.width) + bytes(i.mask.operand, s.queries * s.keys) +
              bytes(i.out.operand, rows * s.width) + bytes(i.statistics, 2 * rows)};
}
Cost cost(const Attention& i) { return attention(i, 1, 1); }
Cost cost(const AttentionGradient& i) {
  const instruction::AttentionShape& s = i.attention;
  const std::int64_t rows = s.batch.size() * s.queries, columns = s.batch.size() * s.keys;
  Cost sum = attention(i, 3, 2);
  sum += {0, bytes(i.d_out.operand, rows * s.width) + bytes(i.d_query.operand, rows * s.depth) +
                 bytes(i.d_key.operand, columns * s.depth) + bytes(i.d_value.operand, columns * s.width)};
  return sum;
}
Cost cost(const instruction::Transpose& i) { return {0, 2 * bytes(i.in, i.extents.size())}; }
Cost cost(const instruction::Uniform& i) { return {0, bytes(i.out, i.count)}; }
Cost cost(const Copy& i) { return {0, 2 * size(i.bytes)}; }
Cost cost(const instruction::AllReduce& i) {
  Cost sum;
  for (const auto& [count, in, out] : i.parts) sum += {size(count), bytes(in, count) + bytes(out, count)};
  return sum;
}
Cost cost(const instruction::Scan& i) {
  Cost sum;
  for (const Instruction& one : i.body->instructions) sum += cost_of(one);
  return {sum.operations * size(i.steps), sum.bytes * size(i.steps)};
}

std::string by(std::initializer_list<std::int64_t> extents) {
  std::string text;
  for (std::int64_t extent : extents) text += (text.empty() ? " " : "×") + std::to_string(extent);
  return text;
}

std::string sizes(const ConvolutionShape& s) {
  return by({s.batch, s.height, s.width, s.channels}) + " by" +
         by({s.window.extent[0], s.window.extent[1], s.channels / s.groups, s.filters});
}
std::string sizes(const Pooling& p) {
  return by({p.batch, p.height, p.width, p.channels}) + " by" + by({p.window.extent[0], p.window.extent[1]});
}
std::string sizes(const Elementwise& i) {
  std::int64_t elements = 0;
  for (const Segment& segment : i.segments) elements += segment.size;
  return by({elements}) + (i.segments.size() > 1 ? " in " + std::to_string(i.segments.size()) + " segments" : "");
}
std::string sizes(const Gemm& i) {
  const std::int64_t batch = i.batch.size();
  return by({i.m, i.n, i.k}) + (batch > 1 ? " of " + std::to_string(batch) : "");
}
std::string sizes(const Reduce& i) { return by({i.outer, i.count, i.inner}); }
std::string sizes(const instruction::Transpose& i) { return ' ' + i.extents.to_string(); }
std::string sizes(const instruction::Uniform& i) { return by({i.count}); }
std::string sizes(const Copy& i) { return by({i.bytes}) + " bytes"; }
std::string sizes(const instruction::AllReduce& i) {
  std::int64_t elements = 0;
  for (const auto& part : i.parts) elements += part.count;
  return by({elements}) + " of " + std::to_string(i.parts.size()) + " Values";
}
std::string sizes(const instruction::Scan& i) {
  return by({i.steps}) + " steps" + (i.reverse ? ", from the last to the first" : "") +
         (i.rows > 0 ? ", of" + by({i.rows}) + " rows by themselves" : "");
}
template <class I> std::string sizes(const I& i) {
  if constexpr (requires { i.attention; })
    return by({i.attention.queries, i.attention.keys, i.attention.depth, i.attention.width}) + " of " +
           std::to_string(i.attention.batch.size()) + (i.attention.is_masked ? ", masked" : "");
  else if constexpr (requires { i.shape; })
    return sizes(i.shape) +
           (i.pooling ? ", pooled" + by({i.pooling->window.extent[0], i.pooling->window.extent[1]}) : "");
  else if constexpr (requires { i.pooling; })
    return sizes(i.pooling);
  else if constexpr (requires { i.depth; })
    return by({i.rows, i.depth});
  else
    return by({i.rows, i.count});
}

/// The program's steps by name: "Multiply, Add, Relu".
std::string steps(const Program& program) {
  std::string text;
  for (const Program::Step& step : program.steps) {
    if (!text.empty()) text += ", ";
    text += name_of_code(step.code);
  }
  return text;
}

std::string fused(const Elementwise& i) { return i.program.steps.empty() ? "" : ": " + steps(i.program); }
template <class I> std::string fused(const I& i) {
  if constexpr (requires { i.epilogue; })
    return i.epilogue ? ", then " + steps(i.epilogue->program) : "";
  else
    return "";
}

/// 1234567 as "1.23 M".
std::string short_number(double number) {
  const char* units[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  for (; number >= 1000 && unit + 1 < std::size(units); ++unit) number /= 1000;
  return formatted("%.3g", number) + units[unit];
}

std::string costs(const Cost& cost) {
  return short_number(cost.operations) + "FLOP, " + short_number(cost.bytes) + "B";
}

void list(std::string& text, const std::vector<Instruction>& instructions, const Device& device,
          const std::string& margin) {
  int number = 0;
  for (const Instruction& one : instructions) {
    text += margin + std::to_string(number++) + "  " + std::string(name_of(one));
    text += std::visit([](const auto& i) { return sizes(i); }, one);
    if (const std::string_view method = device.method(one); !method.empty()) text += ", by " + std::string(method);
    text += std::visit([](const auto& i) { return fused(i); }, one);
    text += "  (" + costs(cost_of(one)) + ")\n";
    if (const auto* scan = std::get_if<instruction::Scan>(&one))
      list(text, scan->body->instructions, device, margin + "    ");
  }
}

}  // namespace

Cost cost_of(const Instruction& instruction) {
  return std::visit([](const auto& i) { return cost(i); }, instruction);
}

std::string explain(const Plan& plan) {
  std::string text;
  list(text, plan.instructions(), plan.arena().device(), "");
  Cost sum;
  for (const Instruction& one : plan.instructions()) sum += cost_of(one);
  return text + std::to_string(plan.instructions().size()) + " instructions, " + costs(sum) + " a step, " +
         short_number(static_cast<double>(plan.arena_bytes())) + "B of memory beside variables and batch\n";
}

}  // namespace etude
