#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <map>
#include <regex>

#include "cuda/cuda.hpp"
#include "cuda/program_compiler.hpp"
#include "cuda/program_source.hpp"
#include "etude/graph/detail/op.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "gpu_samples.hpp"
#include "host_runtime.hpp"
#include "support.hpp"

// The texts of programs: the neighbours of a thread, and its registers. Only on the host.

using namespace etude;
using namespace etude::testing;
using namespace etude::instruction;

namespace {

/// Stores the texts, and compiles none.
class TextsRuntime : public PassingRuntime {
 public:
  TextsRuntime() : PassingRuntime(std::make_unique<HostRuntime>()) {}
  std::vector<std::string> texts;
  std::vector<std::unique_ptr<cuda::CompiledProgram>> compile(std::span<const std::string> sources) override {
    texts.insert(texts.end(), sources.begin(), sources.end());
    std::vector<std::unique_ptr<cuda::CompiledProgram>> programs;
    for (std::size_t i = 0; i < sources.size(); ++i) programs.push_back(std::make_unique<cuda::CompiledProgram>());
    return programs;
  }
};

/// A GPU without a limit of numbers in programs.
class Unlimited : public Cuda {
 public:
  using Cuda::Cuda;
  std::int64_t most_live_numbers() const override { return std::numeric_limits<std::int64_t>::max(); }
};

/// Adds `count` inputs.
Program sum_of(std::uint16_t inputs, Lane lane = Lane::float32) {
  Program program;
  program.inputs.assign(inputs, {lane});
  for (std::uint16_t i = 1; i < inputs; ++i)
    program.steps.push_back({opcode_of<op::Add>(), lane, lane, inputs, i == 1 ? std::uint16_t{0} : inputs, i, i});
  program.outputs = {{inputs}};
  program.registers = static_cast<std::uint16_t>(inputs + 1);
  return program;
}

/// The sum of x, repeated rows, repeated columns and a transposed matrix, in the order of x.
struct MixedSum {
  static constexpr std::int64_t room = 20'000;
  std::int64_t rows, columns, start;
  std::vector<float> numbers = std::vector<float>(5 * room);
  Elementwise sum{};

  MixedSum(std::int64_t row_count, std::int64_t column_count, std::int64_t first)
      : rows(row_count), columns(column_count), start(first) {
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 7919 % 1013);
    const auto place = [&](std::int64_t operand) { return Operand{0, 4 * (operand * room + (operand ? 0 : start))}; };
    const auto strided = [&](std::int64_t operand, std::int64_t row, std::int64_t column) {
      return Access{place(operand), Access::Kind::strided, {rows, columns}, {row, column}};
    };
    sum.program = sum_of(4);
    sum.segments = {
        {rows * columns, {{place(0)}, strided(1, 0, 1), strided(2, 1, 0), strided(3, 1, rows)}, {{place(0)}}}};
  }

  std::vector<float> expected() const {
    std::vector<float> result = numbers;
    const float *repeated = numbers.data() + room, *column = repeated + room, *turned = column + room;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        result[static_cast<std::size_t>(start + r * columns + c)] += repeated[c] + column[r] + turned[r + c * rows];
    return result;
  }
};

/// The 32-bit numbers that a thread of a program has at the same time: a step's operands and its result, and the values
/// that are used later.
std::int64_t live_numbers(const Program& program) {
  const auto steps = std::ssize(program.steps);
  const std::size_t fixed = program.inputs.size() + program.immediates.size();
  struct Held {
    std::ptrdiff_t first, last;
    std::int64_t numbers;
  };
  std::vector<Held> all;
  std::map<std::uint16_t, std::size_t> current;
  const auto numbers = [&](Lane lane, bool per_row) {
    return (lane == Lane::float64 ? 2 : 1) * (per_row || program.row == 0 ? 1 : (program.row + 31) / 32);
  };
  const auto use = [&](std::uint16_t reg, std::ptrdiff_t when) {
    if (reg >= program.inputs.size() && reg < fixed) return;
    if (!current.contains(reg)) {
      current[reg] = all.size();
      all.push_back({when, when, numbers(program.inputs[reg].lane, program.inputs[reg].per_row)});
    }
    all[current[reg]].last = when;
  };
  for (std::ptrdiff_t i = 0; i < steps; ++i) {
    const Program::Step& step = program.steps[static_cast<std::size_t>(i)];
    for (const std::uint16_t reg : {step.a, step.b, step.c}) use(reg, i);
    if (step.code == spread_code) {  // a row's number that is read as its elements stays one number
      current[step.result] = current[step.a];
      continue;
    }
    current[step.result] = all.size();
    all.push_back({i, i, numbers(step.to, step.per_row)});
  }
  for (const Program::Output& output : program.outputs) use(output.reg, steps);
  std::int64_t most = 0;
  for (std::ptrdiff_t i = 0; i <= steps; ++i) {
    std::int64_t now = 0;
    for (const Held& held : all) now += held.first <= i && i <= held.last ? held.numbers : 0;
    most = std::max(most, now);
  }
  return most;
}

/// A random graph over rows of 512 elements, with many late uses.
std::vector<Value> random_rows(std::uint64_t seed, std::span<const Value> inputs) {
  Random random = draws(seed);
  const auto draw = [&](std::size_t count) { return random.below(static_cast<std::uint32_t>(count)); };
  std::vector<Value> values(inputs.begin(), inputs.end());
  for (int i = 0; i < 60; ++i) {
    const Value a = values[draw(values.size())], b = values[draw(values.size())];
    switch (draw(6)) {
      case 0: values.push_back(a + b); break;
      case 1: values.push_back(a * b); break;
      case 2: values.push_back(ops::exp(a)); break;
      case 3: values.push_back(ops::tanh(a) - b); break;
      case 4: values.push_back(ops::softmax(a)); break;
      default: values.push_back(a * ops::sum(b, {1}, true)); break;
    }
  }
  Value total = values[0];
  for (const Value& value : values) total = total + value;  // all of them are live up to here
  return {total, values[values.size() / 2], values.back()};
}

Plan plan_of_rows(Device& device, std::uint64_t seed) {
  Graph graph({}, device.multiplies_halves());
  std::vector<Value> results;
  {
    Trace trace(graph);
    std::vector<Value> inputs;
    for (std::uint64_t i = 0; i < 4 + seed % 13; ++i) inputs.push_back(graph.input({8, 512}, DType::float32));
    results = random_rows(seed, inputs);
  }
  return Plan(graph, results, {}, std::make_shared<Arena>(device));
}

std::string warnings_of(Cuda& device, int architecture) {
  std::string warnings;
  for (const std::string& text : static_cast<TextsRuntime&>(device.runtime()).texts)
    cuda::compile_program(text, architecture, &warnings);
  return warnings;
}

std::ptrdiff_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator());
}

}  // namespace

TEST_CASE("a thread processes as many neighbours as its registers can hold", "[cuda][programs]") {
  CHECK(cuda::width_of(sum_of(23)) == 4);
  CHECK(cuda::width_of(sum_of(24)) == 2);
  CHECK(cuda::width_of(sum_of(47)) == 2);
  CHECK(cuda::width_of(sum_of(48)) == 1);
  CHECK(cuda::width_of(sum_of(11, Lane::float64)) == 4);
  CHECK(cuda::width_of(sum_of(12, Lane::float64)) == 2);
  Program with_immediates = sum_of(23);
  with_immediates.immediates.assign(9, {1, Lane::float32});
  with_immediates.registers = static_cast<std::uint16_t>(with_immediates.registers + 9);
  for (Program::Step& step : with_immediates.steps) step.result = 32;
  CHECK(cuda::width_of(with_immediates) == 4);
  Program rows = sum_of(2);
  rows.row = 8;
  CHECK(cuda::width_of(rows) == 1);
  const cuda::ProductInput product{};
  CHECK(cuda::width_of(sum_of(2), &product) == 1);
}

TEST_CASE("neighbours of a wide segment are accessed together, others one by one, with the same sums",
          "[cuda][programs]") {
  for (const auto& [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 8},
                                      {1, 3},
                                      {1, 4},
                                      {1, 5},
                                      {7, 8},
                                      {9, 5},
                                      {300, 8},
                                      {301, 12},
                                      {255, 4}})
    for (const std::int64_t start : {0, 1, 2, 3, 4}) {
      INFO(rows << " rows, " << columns << " columns, from element " << start << " on");
      MixedSum mixed(rows, columns, start);
      const std::vector<float> expected = mixed.expected();

      HostRuntime runtime;
      std::byte* const memory = runtime.allocate(mixed.numbers.size() * sizeof(float));
      const std::array addresses{memory};
      for (const bool as_threads : {true, false}) {
        runtime.upload(memory, mixed.numbers.data(), mixed.numbers.size() * sizeof(float));
        cuda::ProgramArguments arguments;
        arguments.add(mixed.sum.program, mixed.sum.segments[0], addresses);
        const std::string text = cuda::program_source(mixed.sum.program, mixed.sum.segments[0], 1);
        if (as_threads)
          run_threads(text, arguments.blocks(), cuda::program_threads, arguments.data());
        else
          runtime.launch(*runtime.compile(std::span(&text, 1))[0], arguments.blocks(), cuda::program_threads,
                         arguments.data(), arguments.bytes());
        std::vector<float> summed(mixed.numbers.size());
        runtime.download(summed.data(), memory, summed.size() * sizeof(float));
        CHECK(summed == expected);
        const bool wide = start % 4 == 0 && rows * columns >= 4;
        CHECK(arguments.blocks() == (rows * columns / (wide ? 4 : 1) + 255) / 256);
      }
      runtime.release(memory);
    }
}

TEST_CASE("programs of rows are divided if a thread would hold more numbers than registers", "[cuda][programs]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    INFO("seed " << seed);
    Cuda capped("/gpu:0", std::make_unique<TextsRuntime>());
    Unlimited unlimited("/gpu:0", std::make_unique<TextsRuntime>());
    std::int64_t most = 0, without = 0;
    const Plan plan = plan_of_rows(capped, seed), other = plan_of_rows(unlimited, seed);
    for (const Instruction& one : plan.instructions())
      if (const auto* program = std::get_if<Elementwise>(&one)) most = std::max(most, live_numbers(program->program));
    for (const Instruction& one : other.instructions())
      if (const auto* program = std::get_if<Elementwise>(&one))
        without = std::max(without, live_numbers(program->program));
    CHECK(most <= capped.most_live_numbers());
    CHECK(without > capped.most_live_numbers());
  }
}

TEST_CASE("programs of random rows of 512 elements spill no register", "[.][nvrtc]") {
  std::string without;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    INFO("seed " << seed);
    Cuda capped("/gpu:0", std::make_unique<TextsRuntime>());
    plan_of_rows(capped, seed);
    for (const int architecture : {80, 90}) CHECK(warnings_of(capped, architecture) == "");
    Unlimited unlimited("/gpu:0", std::make_unique<TextsRuntime>());
    plan_of_rows(unlimited, seed);
    if (without.empty()) without = warnings_of(unlimited, 90);
  }
  CHECK(without != "");
}

TEST_CASE("Adam's program loads and stores four numbers at once", "[.][nvrtc]") {
  samples::Gpu gpu;
  samples::Kind kind = samples::kinds[0];
  kind.optimizer = "adam";
  samples::trained(kind, gpu.strategy);
  int found = 0;
  for (const std::string& source : gpu.runtime().sources) {
    const auto loads = count(source, R"(reinterpret_cast<const Numbers<float, W>\*>)"),
               stores = count(source, R"(reinterpret_cast<Numbers<float, W>\*>)");
    if (stores != 3 || source.find("op::Sqrt") == std::string::npos) continue;
    ++found;
    const std::string ptx = cuda::ptx_of(source, 90);
    CHECK(loads >= 4);
    CHECK(count(ptx, R"(ld(\.global)?\.v4\.)") == loads);
    CHECK(count(ptx, R"(st(\.global)?\.v4\.)") == stores);
    CHECK(ptx.find("call") == std::string::npos);
  }
  CHECK(found > 0);
}

TEST_CASE("a prepared program computes a product at any alignment, with the same bits", "[cuda][programs]") {
  constexpr std::int64_t m = 3, n = 5, k = 8, room = 64;
  auto counting = std::make_unique<CountingRuntime>(std::make_unique<HostRuntime>());
  CountingRuntime& runtime = *counting;
  Cuda device("/gpu:0", std::move(counting));
  const auto memory = device.allocate(4 * 3 * room);
  std::vector<float> first;
  for (const std::int64_t start : {0, 4, 1}) {  // elements after a multiple of 16 bytes
    INFO("from element " << start << " on");
    std::vector<float> numbers(3 * room);
    for (std::size_t i = 0; i < 2 * room; ++i)
      if (i % room >= static_cast<std::size_t>(start))
        numbers[i] = static_cast<float>((i - static_cast<std::size_t>(start)) * 37 % 19) / 8 - 1;
    memory->write(0, numbers.data(), 4 * numbers.size());
    const auto place = [&](std::int64_t operand) { return Operand{0, 4 * (operand * room + start)}; };
    Instruction product = Gemm{.m = m,
                               .n = n,
                               .k = k,
                               .batch = {},
                               .a = {place(0), k, false, {}},
                               .b = {place(1), k, true, {}},
                               .c = {place(2), n, false, {}},
                               .workspace = {},
                               .epilogue = {}};
    device.prepare(std::span(&product, 1));
    device.run(std::span(&product, 1), std::array{memory->address()});
    std::vector<float> result(m * n);
    memory->read(static_cast<std::size_t>(4 * (2 * room + start)), result.data(), 4 * result.size());
    if (first.empty()) first = result;
    CHECK(result == first);
    CHECK(std::ranges::any_of(result, [](float x) { return x != 0; }));
  }
  CHECK(runtime.counts.compiled == 1);
}
