#include "etude/optimizers/muon.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"
#include "etude/optimizers/adam.hpp"

namespace etude::optimizers {
namespace {

/// Each step of the iteration is three products in the graph.
constexpr std::int64_t most_steps = 100;

class MuonOptimizer : public Optimizer {
 public:
  explicit MuonOptimizer(const MuonOptions& options) : Optimizer(shared_options(options)), options_(options) {
    check_fraction("adam_beta_1", options.adam_beta_1);
    check_fraction("adam_beta_2", options.adam_beta_2);
    check_fraction("momentum", options.momentum);
    check_not_negative("epsilon", options.epsilon);
    check_not_negative("adam_lr_ratio", options.adam_lr_ratio);
    check_not_negative("adam_weight_decay", options.adam_weight_decay.value_or(0));
    check_not_negative("rms_rate", options.rms_rate.value_or(0));
    check(options.ns_steps >= 1 && options.ns_steps <= most_steps, ErrorKind::value, name(),
          "ns_steps = ", options.ns_steps, " - expected 1 to ", most_steps, " - set ns_steps.");
    for (const std::string& pattern : options.exclude_layers) is_found(pattern, "", "exclude_layers");  // throws here
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    if (is_for_adam(variable))
      adam_step(gradient, variable, learning_rate * options_.adam_lr_ratio);
    else
      muon_step(gradient, variable, learning_rate);
  }

 private:
  bool is_for_adam(const Variable& variable) const {
    std::string path = variable.name();
    std::ranges::transform(path, path.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
    if (variable.shape().rank() != 2 || (options_.exclude_embeddings && path.find("embedding") != path.npos))
      return true;
    return std::ranges::any_of(options_.exclude_layers, [&](const std::string& pattern) {
      return is_found(pattern, variable.name(), "exclude_layers");
    });
  }

  std::vector<SlotKind> slot_kinds(const Variable& variable) const override {
    if (is_for_adam(variable)) return {{"momentum"}, {"velocity"}};
    return {{"momentum"}};
  }
  std::optional<double> weight_decay_of(const Variable& variable) const override {
    return is_for_adam(variable) ? options_.adam_weight_decay : options_.weight_decay;
  }

  void adam_step(Value gradient, const Variable& variable, Value learning_rate) {
    Graph& graph = Graph::current();
    const Value t = step_number(variable.dtype());
    const Value m = averaged(0, gradient, options_.adam_beta_1, variable);
    const Value v = averaged(1, ops::square(gradient), options_.adam_beta_2, variable);
    const Value alpha =
        learning_rate * ops::sqrt(one_minus_power(options_.adam_beta_2, t)) / one_minus_power(options_.adam_beta_1, t);
    graph.assign(variable, graph.read(variable) - alpha * m / (ops::sqrt(v) + options_.epsilon));
  }
  Value averaged(std::size_t kind, Value x, double beta, const Variable& variable) const {
    Graph& graph = Graph::current();
    const Value next = graph.read(slot(kind, variable)) * beta + x * (1 - beta);
    graph.assign(slot(kind, variable), next);
    return next;
  }

  void muon_step(Value gradient, const Variable& variable, Value learning_rate) {
    Graph& graph = Graph::current();
    const Variable& average = slot(0, variable);
    const Value m = graph.read(average) * options_.momentum + gradient;
    graph.assign(average, m);
    Value step = learning_rate * orthogonal(options_.nesterov ? gradient + m * options_.momentum : m);
    if (options_.rms_rate)
      step = step * (std::sqrt(static_cast<double>(std::max(step.shape()[0], step.shape()[1]))) * *options_.rms_rate);
    graph.assign(variable, graph.read(variable) - step);
  }

  /// x [n, m] with singular values near 1.
  Value orthogonal(Value x) const {
    const bool tall = x.shape()[0] > x.shape()[1];
    if (tall) x = ops::transpose(x, {1, 0});
    x = x / (ops::sqrt(ops::sum(ops::square(x))) + 1e-7);
    for (std::int64_t i = 0; i < options_.ns_steps; ++i) {
      const Value a = ops::matmul(x, x, false, true);
      x = x * options_.muon_a + ops::matmul(a * options_.muon_b + ops::matmul(a, a) * options_.muon_c, x);
    }
    return tall ? ops::transpose(x, {1, 0}) : x;
  }

  MuonOptions options_;
};

}  // namespace

OptimizerPtr Muon::make(const MuonOptions& options) { return std::make_shared<MuonOptimizer>(options); }

}  // namespace etude::optimizers
