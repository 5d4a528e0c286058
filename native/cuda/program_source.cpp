#include "cuda/program_source.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "cuda/kernel.hpp"
#include "cuda/launch.hpp"
#include "cuda/program_texts.hpp"
#include "etude/base/error.hpp"
#include "etude/graph/op.hpp"

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
  // Exactly, and whatever the program's locale writes for a point.
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof(text), std::fabs(value), std::chars_format::hex);
  check(error == std::errc(), ErrorKind::internal, "Cuda",
        "a number that cannot be written - expected one of a program - this is a defect of the library.");
  return type + (std::signbit(value) ? "(-0x" : "(0x") + std::string(text, end) + ')';
}

std::size_t operands(const Program& program) { return program.inputs.size() + program.outputs.size(); }

/// A kernel's arguments, by words of 64 bits: how many there may be, and how many a segment takes.
constexpr std::size_t most_words = 4096 / sizeof(std::uint64_t);
std::size_t words_of_segment(const Program& program) { return 2 + operands(program); }

/// How many blocks of threads a segment wants.
std::int32_t blocks_of(const Program& program, const Segment& segment) {
  constexpr std::int64_t most = 2048;  // of which each then goes on
  const std::int64_t threads = program.row > 0 ? segment.size / program.row * warp : segment.size;
  return static_cast<std::int32_t>(std::min(blocks_for(threads, program_threads), most));
}

/// Writes the text of one program.
class Writer {
 public:
  Writer(const Program& program, const Segment& segment, std::size_t segments, const ProductInput* product)
      : program_(program), segment_(segment), segments_(segments), product_(product) {}

  std::string write() {
    text_ = prelude_text;
    text_ += half_text;
    text_ += elementwise_text;
    text_ += "using namespace etude;\nstruct Segment { long long count; int first, blocks; void* operands[" +
             std::to_string(operands(program_) + (product_ ? 2 : 0)) +
             "]; };\nconstexpr int segments = " + std::to_string(segments_) +
             ";\nstruct Arguments { Segment of[segments]; };\nENTRY void program(PARAMETER) {\nSEGMENT {\n";
    registers_.resize(program_.registers);
    for (std::size_t i = 0; i < program_.immediates.size(); ++i)
      registers_[program_.inputs.size() + i] = {literal(program_.immediates[i].value, program_.immediates[i].lane),
                                                true};
    if (program_.row > 0) {
      // A warp for each row; each of its lanes holds every LANES-th element.
      text_ += "constexpr int row_size = " + std::to_string(program_.row) +
               ", each = (row_size + LANES - 1) / LANES;\n"
               "EACH_ROW {\n";
    } else {
      text_ += "EACH_ELEMENT {\n";
    }
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) load(i);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) step(i);
    for (std::size_t i = 0; i < program_.outputs.size(); ++i)
      store(program_.inputs.size() + i, segment_.outputs[i], program_.outputs[i].reg, program_.outputs[i].per_row);
    text_ += "}\n}\n}\n";
    return std::move(text_);
  }

 private:
  /// What a register holds just now: an expression; of each element, unless it is one of the row or of all.
  struct Register {
    std::string name;
    bool one = false;
  };

  bool by_rows() const { return program_.row > 0; }

  std::string value(std::uint16_t reg) const {
    const Register& r = registers_[reg];
    return by_rows() && !r.one ? r.name + "[e]" : r.name;
  }

  /// A new name for what `reg` holds from here on, declared with its value: for each element, or once.
  void define(std::uint16_t reg, std::string name, const char* type, bool one, const std::string& value) {
    if (!by_rows() || one)
      text_ += std::string("const ") + type + ' ' + name + " = " + value + ";\n";
    else
      text_ += std::string(type) + ' ' + name + "[each];\nEACH { " + name + "[e] = " + value + "; }\n";
    registers_[reg] = {std::move(name), one || !by_rows()};
  }

  /// Where element `index` lies, of a domain of `size`.
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
  std::string index(bool per_row) const { return !by_rows() ? "i" : per_row ? "row" : "(row * row_size + column)"; }
  std::string memory(std::size_t operand, DType dtype, const std::string& at) const {
    return "static_cast<" + std::string(type_of(dtype)) + "*>(a.operands[" + std::to_string(operand) + "])[" + at + ']';
  }

  /// An element of a product.
  std::string product(Lane lane) const {
    const auto first = [&](std::size_t operand, const Access& access) {
      return '&' +
             memory(operands(program_) + operand, access.operand.dtype, offset(access, index(false), segment_.size));
    };
    const std::string depth = std::to_string(product_->depth);
    const std::string function = product_->by_fours
                                     ? "product_by_fours<" + depth
                                     : std::string("product<") + type_of(lane) + ", " + depth + ", " +
                                           std::to_string(product_->along_a) + ", " + std::to_string(product_->along_b);
    return function + ">(" + first(0, product_->a) + ", " + first(1, product_->b) + ')';
  }

  void load(std::size_t i) {
    const Access& access = segment_.inputs[i];
    const auto [lane, per_row] = program_.inputs[i];
    const bool one = per_row || (by_rows() && access.kind == Access::Kind::scalar);
    const bool is_product = product_ && product_->input == i;
    std::string from = is_product
                           ? product(lane)
                           : "static_cast<" + std::string(type_of(lane)) + ">(" +
                                 memory(i, access.operand.dtype, offset(access, index(per_row), domain(per_row))) + ')';
    if (by_rows() && !one) from = "column < row_size ? " + from + " : 0";
    const auto reg = static_cast<std::uint16_t>(i);
    define(reg, "x" + std::to_string(i), type_of(lane), one, from);
    if (is_product && product_->is_kept) store(i, access, reg, false);
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

  void store(std::size_t operand, const Access& access, std::uint16_t reg, bool per_row) {
    const std::string at =
        access.kind == Access::Kind::strided ? offset(access, index(per_row), domain(per_row)) : index(per_row);
    const std::string line = memory(operand, access.operand.dtype, at) + " = static_cast<" +
                             type_of(access.operand.dtype) + ">(" + value(reg) + ");";
    if (!by_rows())
      text_ += line + '\n';
    else if (per_row)
      text_ += "if (LANE == 0) { " + line + " }\n";
    else
      text_ += "EACH { if (column < row_size) { " + line + " } }\n";
  }

  const Program& program_;
  const Segment& segment_;
  std::size_t segments_;
  const ProductInput* product_;
  std::string text_;
  std::vector<Register> registers_;
};

}  // namespace

std::size_t ProgramArguments::most_segments(const Program& program) {
  return std::max<std::size_t>(most_words / words_of_segment(program), 1);
}

void ProgramArguments::add(const Program& program, const Segment& segment, Addresses addresses,
                           const ProductInput* product) {
  const std::int32_t blocks = blocks_of(program, segment);
  words_.push_back(static_cast<std::uint64_t>(program.row > 0 ? segment.size / program.row : segment.size));
  words_.push_back(std::bit_cast<std::uint64_t>(std::array{blocks_, blocks}));
  const auto add = [&](const Access& access) {
    words_.push_back(reinterpret_cast<std::uint64_t>(at<std::byte>(addresses, access.operand)));
  };
  for (const auto* accesses : {&segment.inputs, &segment.outputs}) std::ranges::for_each(*accesses, add);
  if (product) add(product->a), add(product->b);
  blocks_ += blocks;
  check(words_.size() <= most_words, ErrorKind::internal, "Cuda", "a program of ", operands(program),
        " operands - expected at most ", most_words - 4, " - this is a defect of the library.");
}

bool alike(const Segment& a, const Segment& b) {
  const auto same = [&](const Access& x, const Access& y) {
    return x.kind == y.kind && x.operand.dtype == y.operand.dtype &&
           (x.kind != Access::Kind::strided || (a.size == b.size && x.extents == y.extents && x.strides == y.strides));
  };
  return std::ranges::equal(a.inputs, b.inputs, same) && std::ranges::equal(a.outputs, b.outputs, same);
}

std::string program_source(const Program& program, const Segment& segment, std::size_t segments,
                           const ProductInput* product) {
  return Writer(program, segment, segments, product).write();
}

}  // namespace etude::cuda
