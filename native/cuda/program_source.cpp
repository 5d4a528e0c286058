#include "cuda/program_source.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "cuda/kernel.hpp"
#include "cuda/program_texts.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/detail/op.hpp"

namespace etude::cuda {

using instruction::Access;
using instruction::Lane;
using instruction::Program;
using instruction::Segment;

namespace {

const char* type_of(Lane lane) { return lane == Lane::float64 ? "double" : lane == Lane::int32 ? "int" : "float"; }

const char* type_of(DType dtype) {
  switch (dtype) {
    case DType::float64: return "double";
    case DType::int32: return "int";
    case DType::uint8:
    case DType::boolean: return "unsigned char";
    case DType::float16: return "Float16";
    case DType::bfloat16: return "BFloat16";
    case DType::float32: break;
  }
  return "float";
}

template <std::size_t... I> constexpr auto names_of(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{struct_name<std::tuple_element_t<I, op::Elementwise>>()...};
}
template <std::size_t... I> constexpr auto conditions_of(std::index_sequence<I...>) {
  return std::array<bool, sizeof...(I)>{std::tuple_element_t<I, op::Elementwise>::traits.condition...};
}
template <std::size_t... I> constexpr auto arities_of(std::index_sequence<I...>) {
  return std::array<int, sizeof...(I)>{std::tuple_element_t<I, op::Elementwise>::traits.arity...};
}
constexpr auto all = std::make_index_sequence<instruction::elementwise_count>{};
constexpr auto names = names_of(all);
constexpr auto conditions = conditions_of(all);
constexpr auto arities = arities_of(all);

std::string literal(double value, Lane lane) {
  if (lane == Lane::int32) return "convert<int>(" + literal(value, Lane::float64) + ')';
  const std::string type = type_of(lane);
  if (std::isnan(value)) return type + "(NOT_A_NUMBER)";
  if (std::isinf(value)) return type + (value < 0 ? "(-INFINITE)" : "(INFINITE)");
  // Exact, with a decimal point in every locale.
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), std::fabs(value), std::chars_format::hex);
  check(error == std::errc(), ErrorKind::internal, "Cuda",
        "a number without a literal - expected a number of a program - this is a defect of the library.");
  return type + (std::signbit(value) ? "(-0x" : "(0x") + std::string(text, end) + ')';
}

/// Writes the text of one program.
class Writer {
 public:
  Writer(const Program& program, const Segment& segment, std::size_t segments, const ProductInput* product)
      : program_(program),
        segment_(segment),
        segments_(segments),
        product_(product),
        width_(width_of(program, product)) {}

  std::string write() {
    text_ = prelude_text;
    text_ += half_text;
    text_ += elementwise_text;
    text_ +=
        "using namespace etude;\nstruct Segment { long long count; int first; short blocks, wide; void* operands[" +
        std::to_string(operands(program_) + (product_ ? 2 : 0)) +
        "]; };\nconstexpr int segments = " + std::to_string(segments_) +
        ";\nstruct Arguments { Segment of[segments]; };\n";
    registers_.resize(program_.registers);
    for (std::size_t i = 0; i < program_.immediates.size(); ++i)
      registers_[program_.inputs.size() + i] = {literal(program_.immediates[i].value, program_.immediates[i].lane),
                                                true};
    if (program_.row > 0)
      write_rows();
    else
      write_elements();
    return std::move(text_);
  }

 private:
  /// The current value of a register: an expression; for each element, unless it is one for the row or for all.
  struct Register {
    std::string name;
    bool one = false;
  };

  /// A warp for each row; each lane holds every LANES-th element.
  void write_rows() {
    text_ += "ENTRY void program(PARAMETER) {\nSEGMENT {\nconstexpr int row_size = " + std::to_string(program_.row) +
             ", each = (row_size + LANES - 1) / LANES;\nEACH_ROW {\n";
    // Concurrent loads hide each other's latency. If a thread has too few registers for all of them, each load is
    // written before its first use.
    constexpr std::int64_t most_loaded = 64;
    std::int64_t numbers = 0;
    for (const auto& [lane, per_row] : program_.inputs)
      numbers += (lane == Lane::float64 ? 2 : 1) * (per_row ? 1 : blocks_for(program_.row, warp));
    for (std::size_t i = 0; i < program_.inputs.size() && numbers <= most_loaded; ++i) need(i);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      for (const std::uint16_t reg : {program_.steps[i].a, program_.steps[i].b, program_.steps[i].c}) need(reg);
      step(i);
    }
    for (const Program::Output& output : program_.outputs) need(output.reg);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
      const auto& [reg, per_row] = program_.outputs[i];
      store(program_.inputs.size() + i, segment_.outputs[i], reg, per_row);
    }
    text_ += "}\n}\n}\n";
  }

  /// A thread for W neighbours: all its loads, then the computation of each element, then all its stores.
  void write_elements() {
    text_ += "template <int W> inline void element(const Segment& a, long long i) {\n";
    const std::size_t inputs = program_.inputs.size();
    for (std::size_t i = 0; i < inputs; ++i)
      if (!is_product(i)) fetch(i);
    if (product_ && product_->is_kept) declare(product_->input, segment_.inputs[product_->input]);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) declare(inputs + i, segment_.outputs[i]);
    text_ += "EACH_NUMBER {\n";
    for (std::size_t i = 0; i < inputs; ++i) take(i);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) step(i);
    if (product_ && product_->is_kept) fill(product_->input, product_->input, segment_.inputs[product_->input]);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      fill(inputs + i, program_.outputs[i].reg, segment_.outputs[i]);
    text_ += "}\n";
    if (product_ && product_->is_kept) write(product_->input, segment_.inputs[product_->input]);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i) write(inputs + i, segment_.outputs[i]);
    text_ += "}\nENTRY void program(PARAMETER) {\nSEGMENT {\nEACH_ELEMENT(" + std::to_string(width_) + ")\n}\n}\n";
  }

  bool by_rows() const { return program_.row > 0; }
  bool is_product(std::size_t input) const { return product_ && product_->input == input; }

  std::string numbers(DType dtype) const { return std::string("Numbers<") + type_of(dtype) + ", W>"; }
  /// W neighbours in memory, from element i on.
  std::string together(std::size_t operand, const Access& access, const char* constant) const {
    return "*reinterpret_cast<" + (constant + numbers(access.operand.dtype)) + "*>(&" +
           memory(operand, access.operand.dtype, offset(access, "i", segment_.size)) + ')';
  }
  std::string one_of(std::size_t operand, const Access& access, const std::string& index) const {
    return memory(operand, access.operand.dtype, offset(access, index, segment_.size));
  }

  /// Loads an input for W elements.
  void fetch(std::size_t i) {
    const Access& access = segment_.inputs[i];
    const std::string name = 'm' + std::to_string(i);
    switch (neighbours(access, width_)) {
      case Neighbours::together: text_ += "const auto " + name + " = " + together(i, access, "const ") + ";\n"; return;
      case Neighbours::same: text_ += "const auto " + name + " = " + one_of(i, access, "i") + ";\n"; return;
      case Neighbours::apart:
        text_ += numbers(access.operand.dtype) + ' ' + name + ";\nEACH_NUMBER { " + name +
                 ".x[w] = " + one_of(i, access, "(i + w)") + "; }\n";
    }
  }
  /// Names the input of one element.
  void take(std::size_t i) {
    const Access& access = segment_.inputs[i];
    const char* type = type_of(program_.inputs[i].lane);
    const std::string from = 'm' + std::to_string(i) + (neighbours(access, width_) == Neighbours::same ? "" : ".x[w]");
    define(static_cast<std::uint16_t>(i), 'x' + std::to_string(i), type, true,
           is_product(i) ? product(program_.inputs[i].lane) : "static_cast<" + std::string(type) + ">(" + from + ')');
  }
  /// Declares, computes and stores W elements of an operand.
  void declare(std::size_t operand, const Access& access) {
    text_ += numbers(access.operand.dtype) + " y" + std::to_string(operand) + ";\n";
  }
  void fill(std::size_t operand, std::size_t reg, const Access& access) {
    text_ += 'y' + std::to_string(operand) + ".x[w] = static_cast<" + type_of(access.operand.dtype) + ">(" +
             value(static_cast<std::uint16_t>(reg)) + ");\n";
  }
  void write(std::size_t operand, const Access& access) {
    const std::string name = 'y' + std::to_string(operand);
    if (neighbours(access, width_) == Neighbours::together)
      text_ += together(operand, access, "") + " = " + name + ";\n";
    else
      text_ += "EACH_NUMBER { " + one_of(operand, access, "(i + w)") + " = " + name + ".x[w]; }\n";
  }

  std::string value(std::uint16_t reg) const {
    const Register& r = registers_[reg];
    return by_rows() && !r.one ? r.name + "[e]" : r.name;
  }

  /// A new name for the value of `reg` from here on, declared with the value: for each element, or once.
  void define(std::uint16_t reg, std::string name, const char* type, bool one, const std::string& value) {
    if (!by_rows() || one)
      text_ += std::string("const ") + type + ' ' + name + " = " + value + ";\n";
    else
      text_ += std::string(type) + ' ' + name + "[each];\nEACH { " + name + "[e] = " + value + "; }\n";
    registers_[reg] = {std::move(name), one || !by_rows()};
  }

  /// The offset of element `index`, of a domain of `size`.
  static std::string offset(const Access& access, const std::string& index, std::int64_t size) {
    if (access.kind == Access::Kind::scalar) return "0";
    if (access.kind == Access::Kind::contiguous) return index;
    // Division by a constant of 32 bits is cheap.
    const std::string i = size <= 0x7fffffff ? "static_cast<unsigned>(" + index + ')' : index;
    std::string result;
    std::int64_t inner = 1;
    for (std::size_t axis = access.extents.rank(); axis-- > 0;) {
      const std::int64_t extent = access.extents[static_cast<std::ptrdiff_t>(axis)],
                         stride = access.strides[static_cast<std::ptrdiff_t>(axis)];
      if (extent > 1 && stride != 0) {
        std::string entry = inner == 1 ? i : i + " / " + std::to_string(inner);
        if (inner * extent < size) entry = '(' + entry + ") % " + std::to_string(extent);
        if (!result.empty()) result += " + ";
        result += "static_cast<long long>(" + entry + ')';
        if (stride != 1) result += " * " + std::to_string(stride);
      }
      inner *= extent;
    }
    return result.empty() ? "0" : result;
  }

  std::int64_t domain(bool per_row) const { return per_row ? segment_.size / program_.row : segment_.size; }
  static std::string index(bool per_row) { return per_row ? "row" : "(row * row_size + column)"; }
  std::string memory(std::size_t operand, DType dtype, const std::string& at) const {
    return "static_cast<" + std::string(type_of(dtype)) + "*>(a.operands[" + std::to_string(operand) + "])[" + at + ']';
  }

  /// An element of a product.
  std::string product(Lane lane) const {
    const auto first = [&](std::size_t operand, const Access& access) {
      return '&' + memory(operands(program_) + operand, access.operand.dtype,
                          offset(access, by_rows() ? index(false) : "i", segment_.size));
    };
    const std::string depth = std::to_string(product_->depth);
    const std::string operands = ">(" + first(0, product_->a) + ", " + first(1, product_->b) + ')';
    const std::string one_by_one = std::string("product<") + type_of(lane) + ", " + depth + ", " +
                                   std::to_string(product_->along_a) + ", " + std::to_string(product_->along_b) +
                                   operands;
    return product_->by_fours ? "a.wide ? product_by_fours<" + depth + operands + " : " + one_by_one : one_by_one;
  }

  /// Loads an input of rows, if a register is one and is not loaded yet.
  void need(std::size_t i) {
    if (i >= program_.inputs.size() || !registers_[i].name.empty()) return;
    const Access& access = segment_.inputs[i];
    const auto [lane, per_row] = program_.inputs[i];
    const bool one = per_row || access.kind == Access::Kind::scalar;
    std::string from = is_product(i)
                           ? '(' + product(lane) + ')'
                           : "static_cast<" + std::string(type_of(lane)) + ">(" +
                                 memory(i, access.operand.dtype, offset(access, index(per_row), domain(per_row))) + ')';
    if (!one) from = "column < row_size ? " + from + " : 0";
    const auto reg = static_cast<std::uint16_t>(i);
    define(reg, "x" + std::to_string(i), type_of(lane), one, from);
    if (is_product(i) && product_->is_kept) store(i, access, reg, false);
  }

  void step(std::size_t number) {
    const Program::Step& s = program_.steps[number];
    std::string name = "s" + std::to_string(number);
    const char *type = type_of(s.lane), *to = type_of(s.to);
    const std::string a = value(s.a);
    if (s.code == instruction::spread_code) {
      registers_[s.result] = registers_[s.a];
    } else if (s.code == instruction::sum_code || s.code == instruction::max_code) {
      const bool sum = s.code == instruction::sum_code;
      text_ += std::string(to) + " part" + name + " = " + (sum ? "0" : std::string(type) + "(-INFINITE)") +
               ";\nEACH { if (column < row_size) part" + name +
               (sum ? " += " + a : " = larger(" + a + ", part" + name + ')') + "; }\n";
      define(s.result, name, to, true, (sum ? "sum_lanes(part" : "max_lanes(part") + name + ')');
    } else {
      define(s.result, name, to, s.per_row, expression(s, type, to));
    }
  }

  std::string expression(const Program::Step& s, const char* type, const char* to) const {
    const std::string a = value(s.a);
    if (s.code == instruction::convert_code) return std::string("convert<") + to + ">(" + a + ')';
    if (s.code == instruction::truth_code) return std::string("static_cast<") + to + ">((" + a + ") != 0)";
    if (s.code == instruction::byte_code) return "to_byte(" + a + ')';
    if (s.code == instruction::float16_code) return "static_cast<float>(Float16(" + a + "))";
    if (s.code == instruction::bfloat16_code) return "static_cast<float>(BFloat16(" + a + "))";
    const bool select = s.code == instruction::elementwise_count - 1;
    static_assert(names.back() == "Select");
    const auto typed = [&](const std::string& of) { return std::string("static_cast<") + type + ">(" + of + ')'; };
    std::string call = "op::" + std::string(names[s.code]) + "::apply(" + (select ? typed(a) : a);
    if (arities[s.code] > 1) call += ", " + value(s.b);
    if (arities[s.code] > 2) call += ", " + value(s.c);
    call += ')';
    return conditions[s.code] ? std::string("static_cast<") + to + ">(" + call + ')' : call;
  }

  /// Writes an output of rows.
  void store(std::size_t operand, const Access& access, std::uint16_t reg, bool per_row) {
    const std::string at =
        access.kind == Access::Kind::strided ? offset(access, index(per_row), domain(per_row)) : index(per_row);
    const std::string line = memory(operand, access.operand.dtype, at) + " = static_cast<" +
                             type_of(access.operand.dtype) + ">(" + value(reg) + ");";
    if (per_row)
      text_ += "if (LANE == 0) { " + line + " }\n";
    else
      text_ += "EACH { if (column < row_size) { " + line + " } }\n";
  }

  const Program& program_;
  const Segment& segment_;
  std::size_t segments_;
  const ProductInput* product_;
  int width_;
  std::string text_;
  std::vector<Register> registers_;
};

}  // namespace

std::string program_source(const Program& program, const Segment& segment, std::size_t segments,
                           const ProductInput* product) {
  return Writer(program, segment, segments, product).write();
}

}  // namespace etude::cuda
