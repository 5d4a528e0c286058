#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etude/execution/plan.hpp"
#include "etude/optimizers/optimizer.hpp"

namespace etude::coordinator {

using Named = std::vector<std::pair<std::string, Tensor>>;

/// Rows of a variable.
struct Part {
  std::string name;
  std::int64_t begin = 0;
  /// Those of the whole variable; -1 for a scalar.
  std::int64_t rows = -1;
  bool trainable = true;

  /// The name of the part.
  std::string key() const { return name + ":" + std::to_string(begin); }
};

/// The parts of variables that a parameter server keeps, and the optimizer that updates them.
class Parts {
 public:
  /// `optimizer` may be null. Throws Error(value) for one that cannot update each part on its own.
  explicit Parts(OptimizerPtr optimizer);
  void create(const std::vector<Part>& parts, const std::vector<Tensor>& values);
  const std::vector<Part>& list() const { return parts_; }
  std::vector<Tensor> pull(const std::vector<std::string>& keys) const;
  void push(const Named& gradients);
  void assign(const Named& values);
  /// The optimizer's variables: "key/0" is the first slot of a part, "0" the first variable that exists once.
  Named slots();
  void restore_slots(const Named& values);

 private:
  const Variable& variable(const std::string& key) const;
  /// Creates the slots of all trainable parts, in their order.
  void build();
  /// The optimizer's variables by those names.
  std::vector<std::pair<std::string, Variable>> named_slots();
  std::unique_ptr<Plan> make_plan(const Named& gradients);

  OptimizerPtr optimizer_;
  std::vector<Part> parts_;
  std::map<std::string, Variable> variables_;
  /// By the keys of the gradients.
  std::map<std::vector<std::string>, std::unique_ptr<Plan>> plans_;
};

/// The optimizer's variables that exist once: iterations, the learning rate, and others that are no slots.
std::vector<Variable> shared_variables(const Optimizer& optimizer);

}  // namespace etude::coordinator
