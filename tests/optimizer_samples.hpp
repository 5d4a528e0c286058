#pragma once

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"
#include "training_samples.hpp"

namespace etude::samples {

/// The optimizers of the table that need no options.
inline const std::vector<std::string> optimizer_names = [] {
  std::vector<std::string> names;
  for (const ClassEntry* entry : class_table<Optimizer>().entries())
    if (!entry->has_required) names.emplace_back(entry->factory);
  return names;
}();

/// Calls `set` with the name and the value of each option of one of these types.
template <class... Types, class Set> void set_field(const Field& field, void* options, Set& set) {
  const auto try_type = [&]<class T>() {
    if (field.type == field_type<T>) set(std::string(field.name), *static_cast<T*>(field.member(options)));
  };
  (try_type.template operator()<Types>(), ...);
}

/// The optimizer of that name whose options `set` may change.
template <class Set> OptimizerPtr changed(const std::string& name, Set set) {
  const ClassEntry& entry = class_table<Optimizer>().named(name);
  const auto options = entry.options();
  for (const Field& field : entry.fields)
    set_field<LearningRate, double, bool, std::string, std::optional<double>, std::optional<std::int64_t>>(
        field, options.get(), set);
  return make_of<Optimizer>(entry, options.get());
}

/// A variable (1, -2), and steps of an optimizer on it, traced once.
struct Trained {
  using Prepare = std::function<void(Optimizer&, const Variable&)>;
  /// `prepare` is called before the first step.
  explicit Trained(OptimizerPtr of, Prepare by = {}) : optimizer(std::move(of)), prepare(std::move(by)) {}

  /// The variable after a step with this gradient.
  std::vector<double> after(std::initializer_list<float> gradient) {
    step.run({Tensor::from<float>({2}, gradient)});
    return now();
  }
  std::vector<double> now() const { return numbers(variable.value()); }

  OptimizerPtr optimizer;
  Prepare prepare;
  Variable variable{"dense/kernel", Tensor::from<float>({2}, {1, -2})};
  testing::Compiled step{std::vector{Tensor({2})}, [this](Graph&, std::span<const Value> gradient) {
                           if (prepare) prepare(*optimizer, variable);
                           optimizer->apply({gradient[0]}, {variable});
                           return testing::Compiled::Outcome{};
                         }};
};

inline void check_close(const std::vector<double>& got, const std::vector<double>& want, double tolerance = 1e-6) {
  CHECK(testing::difference(got, want, {.atol = tolerance}) == "");
}

}  // namespace etude::samples
