#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "etude/base/random.hpp"
#include "etude/base/threads.hpp"
#include "etude/devices/devices.hpp"
#include "etude/execution/plan.hpp"
#include "etude/graph/graph.hpp"
#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/cpu_device.hpp"

/// Shared by the tests of graph and execution: tensors to compute with, and two lines to compute and compare.
namespace etude::testing {

/// A sequence of draws that is the same on every target.
inline Random draws(std::uint64_t seed) { return Random(seed, RandomStream::step); }

/// Uniform in [low, high) of any dtype; integers for integer types.
Tensor random_tensor(Random& random, const Shape& shape, DType dtype = DType::float64, double low = -1,
                     double high = 1);
/// Draws as above, none of them nearer to 0 than `gap`: away from the kinks of abs and relu.
Tensor random_tensor_off_zero(Random& random, const Shape& shape, DType dtype, double high, double gap = 0.1);
Tensor tensor_of(const Shape& shape, DType dtype, const std::vector<double>& values);
std::vector<double> numbers(const Tensor& tensor);
bool same_bits(const Tensor& a, const Tensor& b);

struct Tolerance {
  double atol = 0, rtol = 0;
};
/// Empty if |got - want| <= atol + rtol |want| everywhere, shapes are equal, and NaNs are at the same places; else the
/// first difference.
std::string difference(const Tensor& got, const Tensor& want, Tolerance tolerance = {});
std::string difference(std::span<const double> got, std::span<const double> want, Tolerance tolerance = {});

using Function = std::function<Value(std::span<const Value>)>;
/// The result of a function of Values, applied to tensors, on a device.
Tensor run_on(Device& device, std::span<const Tensor> inputs, const Function& function);
Tensor run(std::initializer_list<Tensor> inputs, const Function& function);

/// A device of each instruction set of this build that this machine can run.
std::vector<Cpu> instruction_sets();

/// The text of the Error that `action` throws; "no error" if it throws none.
std::string error_of(const std::function<void()>& action);
/// The kind of the Error that it throws; none without one.
std::optional<ErrorKind> kind_of(const std::function<void()>& action);

/// A graph, traced and compiled without a model, as by a step function.
class Compiled {
 public:
  struct Outcome {
    std::vector<Value> results, logs;
  };
  using Step = std::function<Outcome(Graph&, std::span<const Value>)>;
  /// Traces `step` on Values like `inputs`.
  Compiled(std::span<const Tensor> inputs, const Step& step, Device& device = default_device());

  void run(std::span<const Tensor> inputs);
  void run(std::initializer_list<Tensor> inputs) { run(std::span(inputs.begin(), inputs.size())); }
  Plan& plan() { return *plan_; }
  Arena& arena() { return *arena_; }

  /// The number of the step's instructions of that name.
  std::ptrdiff_t count(std::string_view name) const;

 private:
  std::shared_ptr<Arena> arena_;
  std::unique_ptr<Plan> plan_;
  std::vector<const std::byte*> addresses_;
};

/// Sets floatx, or the number of threads, during its lifetime.
class FloatX {
 public:
  explicit FloatX(DType dtype) : before_(floatx()) { set_floatx(dtype); }
  ~FloatX() { set_floatx(before_); }
  FloatX(const FloatX&) = delete;
  FloatX& operator=(const FloatX&) = delete;

 private:
  DType before_;
};

class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace etude::testing
