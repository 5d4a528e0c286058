#include "etude/optimizers/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/catalogue.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {
namespace {

double checked_rate(const std::string& name, double rate) {
  check(std::isfinite(rate) && rate >= 0, ErrorKind::value, name, "learning_rate = ", rate,
        " - expected a finite number of 0 or more - set the learning rate.");
  return rate;
}

/// A momentum, or how much of an average is kept from step to step.
void check_share(const std::string& name, const char* what, double share) {
  check(share >= 0 && share <= 1, ErrorKind::value, name, what, " = ", share, " - expected a number from 0 to 1 - set ",
        what, '.');
}

void check_epsilon(const std::string& name, double epsilon) {
  check(std::isfinite(epsilon) && epsilon >= 0, ErrorKind::value, name, "epsilon = ", epsilon,
        " - expected a finite number of 0 or more - set epsilon.");
}

}  // namespace

Optimizer::Optimizer(std::string name, double learning_rate)
    : name_(std::move(name)),
      learning_rate_(name_ + "/learning_rate", Tensor({}, floatx()), false),
      iterations_(name_ + "/iterations", Tensor({}, DType::int32), false) {
  set_learning_rate(learning_rate);
}

void Optimizer::set_learning_rate(double rate) { learning_rate_.fill(checked_rate(name_, rate)); }

void Optimizer::build(const std::vector<Variable>& variables) {
  for (const Variable& variable : variables) {
    const bool known = std::ranges::any_of(slots_, [&](const Slots& slots) { return slots.variable == variable; });
    if (known) continue;
    Slots slots{variable, {}};
    for (const std::string& name : slot_names())
      slots.slots.emplace_back(name_ + '/' + variable.name() + '_' + name, Tensor(variable.shape(), variable.dtype()),
                               false);
    slots_.push_back(std::move(slots));
  }
}

void Optimizer::apply(const std::vector<Value>& gradients, const std::vector<Variable>& variables) {
  check(gradients.size() == variables.size(), ErrorKind::value, name_, gradients.size(), " gradients for ",
        variables.size(),
        " variables - expected one for each - pass gradients(loss, variables) and the same variables.");
  check(std::ranges::any_of(gradients, [](const Value& g) { return static_cast<bool>(g); }), ErrorKind::value, name_,
        "No gradients provided for any variable - expected a loss that depends on at least one of them - check that "
        "layers are trainable and that the loss uses y_pred.");
  build(variables);
  Graph& graph = Graph::current();
  for (std::size_t i = 0; i < variables.size(); ++i)
    if (gradients[i])
      update_step(gradients[i], variables[i], ops::cast(graph.read(learning_rate_), variables[i].dtype()));
  graph.assign(iterations_, graph.read(iterations_) + 1);
}

const Variable& Optimizer::slot(std::size_t kind, const Variable& variable) const {
  const auto found = std::ranges::find_if(slots_, [&](const Slots& slots) { return slots.variable == variable; });
  check(found != slots_.end(), ErrorKind::state, name_, "no slots for \"", variable.name(),
        "\" - expected a variable that it was built for - call build() first.");
  return found->slots[kind];
}

Value Optimizer::step_number(DType dtype) const { return ops::cast(Graph::current().read(iterations_) + 1, dtype); }

std::vector<std::vector<Variable>> Optimizer::slots() const {
  std::vector<std::vector<Variable>> kinds(slot_names().size());
  for (std::size_t kind = 0; kind < kinds.size(); ++kind)
    for (const Slots& slots : slots_) kinds[kind].push_back(slots.slots[kind]);
  return kinds;
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> result{iterations_, learning_rate_};
  for (const auto& kind : slots()) result.insert(result.end(), kind.begin(), kind.end());
  return result;
}

namespace optimizers {
namespace {

class SGD : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options) : Optimizer(options.name, options.learning_rate), options_(options) {
    check_share(options.name, "momentum", options.momentum);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const Value step = learning_rate * gradient;
    if (options_.momentum == 0) return graph.assign(variable, graph.read(variable) - step);
    const Variable& momentum = slot(0, variable);
    const Value velocity = graph.read(momentum) * options_.momentum - step;
    graph.assign(momentum, velocity);
    graph.assign(variable, graph.read(variable) + (options_.nesterov ? velocity * options_.momentum - step : velocity));
  }

 private:
  std::vector<std::string> slot_names() const override {
    return options_.momentum == 0 ? std::vector<std::string>{} : std::vector<std::string>{"momentum"};
  }
  SGDOptions options_;
};

class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options) : Optimizer(options.name, options.learning_rate), options_(options) {
    check_share(options.name, "rho", options.rho);
    check_share(options.name, "momentum", options.momentum);
    check_epsilon(options.name, options.epsilon);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const double rho = options_.rho;
    const Variable& mean_square = slot(0, variable);
    const Value velocity = graph.read(mean_square) * rho + ops::square(gradient) * (1 - rho);
    graph.assign(mean_square, velocity);
    Value denominator = velocity + options_.epsilon;
    if (options_.centered) {
      const Variable& mean = slot(options_.momentum > 0 ? 2 : 1, variable);
      const Value average = graph.read(mean) * rho + gradient * (1 - rho);
      graph.assign(mean, average);
      denominator = denominator - ops::square(average);
    }
    Value increment = learning_rate * gradient / ops::sqrt(denominator);
    if (options_.momentum > 0) {
      const Variable& momentum = slot(1, variable);
      increment = graph.read(momentum) * options_.momentum + increment;
      graph.assign(momentum, increment);
    }
    graph.assign(variable, graph.read(variable) - increment);
  }

 private:
  std::vector<std::string> slot_names() const override {
    std::vector<std::string> names{"velocity"};
    if (options_.momentum > 0) names.push_back("momentum");
    if (options_.centered) names.push_back("average_gradient");
    return names;
  }
  RMSpropOptions options_;
};

class Adam : public Optimizer {
 public:
  explicit Adam(const AdamOptions& options) : Optimizer(options.name, options.learning_rate), options_(options) {
    check_share(options.name, "beta_1", options.beta_1);
    check_share(options.name, "beta_2", options.beta_2);
    check_epsilon(options.name, options.epsilon);
  }

  void update_step(Value gradient, const Variable& variable, Value learning_rate) override {
    Graph& graph = Graph::current();
    const auto& [rate, beta_1, beta_2, epsilon, amsgrad, name] = options_;
    const Value t = step_number(variable.dtype());
    // 1 - beta^t as 2u / (1 + u) with u = tanh(-t ln(beta) / 2): in float32 the subtraction would lose five digits.
    const auto one_minus_power = [&](double beta) {
      const Value u = ops::tanh(t * (-std::log(beta) / 2));
      return 2 * u / (1 + u);
    };
    const Value alpha = learning_rate * ops::sqrt(one_minus_power(beta_2)) / one_minus_power(beta_1);
    const Variable &momentum = slot(0, variable), &velocity = slot(1, variable);
    const Value m = graph.read(momentum) * beta_1 + gradient * (1 - beta_1);
    Value v = graph.read(velocity) * beta_2 + ops::square(gradient) * (1 - beta_2);
    graph.assign(momentum, m);
    graph.assign(velocity, v);
    if (amsgrad) {
      const Variable& largest = slot(2, variable);
      v = ops::maximum(graph.read(largest), v);
      graph.assign(largest, v);
    }
    graph.assign(variable, graph.read(variable) - alpha * m / (ops::sqrt(v) + epsilon));
  }

 private:
  std::vector<std::string> slot_names() const override {
    std::vector<std::string> names{"momentum", "velocity"};
    if (options_.amsgrad) names.push_back("velocity_hat");
    return names;
  }
  AdamOptions options_;
};

}  // namespace

OptimizerPtr sgd(SGDOptions options) { return std::make_shared<SGD>(options); }
OptimizerPtr rmsprop(RMSpropOptions options) { return std::make_shared<RMSprop>(options); }
OptimizerPtr adam(AdamOptions options) { return std::make_shared<Adam>(options); }

OptimizerPtr get(const Choice<Optimizer>& choice) {
  static const Catalogue<OptimizerPtr (*)()> catalogue("optimizer", {
                                                                        {"sgd", [] { return sgd(); }},
                                                                        {"rmsprop", [] { return rmsprop(); }},
                                                                        {"adam", [] { return adam(); }},
                                                                    });
  return choice.object() ? choice.object() : catalogue.find(choice.name())();
}

}  // namespace optimizers
}  // namespace etude
