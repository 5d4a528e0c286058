#include "etude/execution/explain.hpp"

#include <array>
#include <initializer_list>
#include <span>
#include <utility>

#include "etude/base/detail/number.hpp"
#include "etude/execution/cost.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude {

using instruction::Access;
using instruction::ConvolutionShape;
using instruction::Copy;
using instruction::Elementwise;
using instruction::Gemm;
using instruction::Opcode;
using instruction::Pooling;
using instruction::Program;
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

std::string by(std::span<const std::int64_t> extents) {
  std::string text;
  for (std::int64_t extent : extents) text += (text.empty() ? " " : "×") + std::to_string(extent);
  return text;
}
std::string by(std::initializer_list<std::int64_t> extents) { return by({extents.begin(), extents.size()}); }
std::string by_shape(const Shape& shape) { return by({shape.begin(), shape.rank()}); }

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
std::string sizes(const instruction::Transpose& i) { return ' ' + i.extents.to_string(); }
std::string sizes(const Copy& i) { return by({i.bytes}) + " bytes"; }
std::string sizes(const instruction::AllReduce& i) {
  std::int64_t elements = 0;
  for (const auto& part : i.parts) elements += part.count;
  const std::string start = i.number < 0 ? "" : ", start of number " + std::to_string(i.number);
  return by({elements}) + " of " + std::to_string(i.parts.size()) + " Values" + start;
}
std::string sizes(const instruction::AwaitSums& i) { return " of number " + std::to_string(i.number); }
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
  else
    return by_shape(i.sizes());
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

/// "2 launches, " on a device that counts them.
std::string launches(std::optional<std::int64_t> count) {
  return count ? std::to_string(*count) + (*count == 1 ? " launch, " : " launches, ") : "";
}

/// Adds a line for each instruction. `of_loop`: they are a loop's body, whose launches its own line counts.
void list(std::string& text, const std::vector<Instruction>& instructions, const Plan& plan, const std::string& margin,
          bool of_loop = false) {
  const Device& device = plan.device();
  int number = 0;
  for (const Instruction& one : instructions) {
    text += margin + std::to_string(number++) + "  " + text_of(one, device);
    text += "  (" + (of_loop ? "" : launches(device.launches(one, plan.addresses()))) + costs(cost_of(one)) + ")\n";
    if (const auto* scan = std::get_if<instruction::Scan>(&one))
      list(text, scan->body->instructions, plan, margin + "    ", true);
  }
}

/// The launches of all instructions, if the device counts them.
std::optional<std::int64_t> all_launches(const Plan& plan) {
  std::int64_t sum = 0;
  for (const Instruction& one : plan.instructions()) {
    const auto count = plan.device().launches(one, plan.addresses());
    if (!count) return {};
    sum += *count;
  }
  return sum;
}

}  // namespace

std::string text_of(const Instruction& one, const Device& device) {
  std::string text(name_of(one));
  text += std::visit([](const auto& i) { return sizes(i); }, one);
  if (const std::string_view method = device.method(one); !method.empty()) text += ", by " + std::string(method);
  return text + std::visit([](const auto& i) { return fused(i); }, one);
}

std::string explain(const Plan& plan) {
  std::string text;
  list(text, plan.instructions(), plan, "");
  const StepCost cost = cost_of(plan);
  return text + std::to_string(plan.instructions().size()) + " instructions, " + launches(all_launches(plan)) +
         costs(cost.sum) + " a step, of which batch and variables are " + short_number(cost.least_bytes) + "B; " +
         short_number(static_cast<double>(plan.arena_bytes())) + "B of memory besides variables and batch\n";
}

}  // namespace etude
