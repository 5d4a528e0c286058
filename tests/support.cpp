#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

namespace etude::testing {

Tensor random_tensor(Random& random, const Shape& shape, DType dtype, double low, double high) {
  Tensor tensor(shape, DType::float64);
  for (double& x : tensor.data<double>()) {
    x = low + (high - low) * static_cast<double>(random.uniform());
    if (!is_floating(dtype)) x = std::floor(x);
  }
  return tensor.astype(dtype);
}

Tensor random_tensor_off_zero(Random& random, const Shape& shape, DType dtype, double high, double gap) {
  Tensor tensor(shape, DType::float64);
  for (double& x : tensor.data<double>()) {
    x = gap + (high - gap) * static_cast<double>(random.uniform());
    if (random.bits() & 1) x = -x;
  }
  return tensor.astype(dtype);
}

Tensor tensor_of(const Shape& shape, DType dtype, const std::vector<double>& values) {
  return Tensor::from(shape, values).astype(dtype);
}

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = tensor.astype(DType::float64);
  const auto data = wide.data<double>();
  return {data.begin(), data.end()};
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string difference(std::span<const double> got, std::span<const double> want, Tolerance tolerance) {
  if (got.size() != want.size())
    return std::to_string(got.size()) + " numbers instead of " + std::to_string(want.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool both_nan = std::isnan(got[i]) && std::isnan(want[i]);
    const double allowed = tolerance.atol + tolerance.rtol * std::abs(want[i]);
    if (both_nan || got[i] == want[i] || (std::isfinite(want[i]) && std::abs(got[i] - want[i]) <= allowed)) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  std::ostringstream text;
  text.precision(17);
  text << wrong << " of " << got.size() << " differ, the first at " << first << ": " << got[first] << " instead of "
       << want[first];
  return text.str();
}

std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (got.shape() != want.shape())
    return "shape " + got.shape().to_string() + " instead of " + want.shape().to_string();
  return difference(numbers(got), numbers(want), tolerance);
}

Tensor run_on(Device& device, std::span<const Tensor> inputs, const Function& function) {
  return evaluate(device, inputs, [&](std::span<const Value> x) { return std::vector{function(x)}; }).front();
}

Tensor run(std::initializer_list<Tensor> inputs, const Function& function) {
  return run_on(default_device(), std::span(inputs.begin(), inputs.size()), function);
}

std::vector<Cpu> instruction_sets() {
  std::vector<Cpu> result;
  for (const cpu::Kernels& kernels : cpu::available_kernels()) result.emplace_back(kernels);
  return result;
}

std::optional<ErrorKind> kind_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.kind();
  }
  return std::nullopt;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Compiled::Compiled(std::span<const Tensor> inputs, const Step& step, Device& device)
    : arena_(std::make_shared<Arena>(device)) {
  Graph graph;
  Outcome outcome;
  {
    Trace trace(graph);
    std::vector<Value> values;
    for (const Tensor& input : inputs) values.push_back(graph.input(input.shape(), input.dtype()));
    outcome = step(graph, values);
  }
  plan_ = std::make_unique<Plan>(graph, outcome.results, outcome.logs, arena_);
  addresses_.resize(inputs.size());
}

void Compiled::run(std::span<const Tensor> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) addresses_[i] = inputs[i].raw();
  plan_->run(addresses_);
}

std::ptrdiff_t Compiled::count(std::string_view name) const {
  return std::ranges::count_if(plan_->instructions(), [&](const Instruction& i) { return name_of(i) == name; });
}

}  // namespace etude::testing
