#include "etude/saving/detail/keras_optimizer.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "etude/classes/detail/snake_case.hpp"
#include "etude/optimizers/adam.hpp"
#include "etude/optimizers/multi_optimizer.hpp"

namespace etude {
namespace {

using Variables = std::vector<Variable>;

void append(Variables& to, const Variables& more) { to.insert(to.end(), more.begin(), more.end()); }

/// Numbers that Keras keeps and does not use.
Variable unused(const Shape& shape, DType dtype) { return {"unused", Tensor(shape, dtype), false}; }

bool is_several(const Optimizer& optimizer) { return optimizer.description().class_name() == "MultiOptimizer"; }

/// The expressions of optimizer_map in the order of a file; empty if there is none.
std::vector<std::string> patterns_in(const Json& config) {
  std::vector<std::string> patterns;
  if (!config.is_structured()) return patterns;
  if (const auto map = config.find("optimizer_map"); map != config.end() && map->is_object())
    if (!map->contains("class_name"))
      for (const auto& [pattern, optimizer] : map->items()) patterns.push_back(pattern);
  for (const Json& each : config)
    if (patterns.empty()) patterns = patterns_in(each);
  return patterns;
}

/// The optimizers in a MultiOptimizer in Keras's order, each once: the default one is the last.
std::vector<const Optimizer*> optimizers_in(const Optimizer& several, const Json& config) {
  const auto& options = *static_cast<const optimizers::MultiOptimizerOptions*>(several.description().options());
  std::vector<std::string> patterns = patterns_in(config);
  for (const auto& [pattern, optimizer] : options.optimizer_map)
    if (std::ranges::find(patterns, pattern) == patterns.end()) patterns.push_back(pattern);
  std::vector<const Optimizer*> result;
  const auto add = [&](const Choice<Optimizer>& choice) {
    const Optimizer* optimizer = choice.object().get();
    if (optimizer && std::ranges::find(result, optimizer) == result.end()) result.push_back(optimizer);
  };
  for (const std::string& pattern : patterns)
    if (const auto found = options.optimizer_map.find(pattern); found != options.optimizer_map.end())
      add(found->second);
  add(options.default_optimizer);
  return result;
}

/// The slots of Adafactor with those that only Keras has: an average for each matrix, which a step computes before it
/// uses it, and two numbers for each other variable, which a LossScaleOptimizer does not have.
Variables with_unused_slots(const Variables& variables, bool is_scaled) {
  Variables result;
  for (const Variable& each : variables) {
    const std::string& name = each.name();
    if (name.ends_with("_velocity") && !is_scaled) append(result, {unused({}, DType::int32), unused({}, DType::int32)});
    result.push_back(each);
    if (!name.ends_with("_columns")) continue;
    Shape shape = result[result.size() - 2].shape();  // of the rows
    shape.append(each.shape()[-1]);
    result.push_back(unused(shape, each.dtype()));
  }
  return result;
}

/// The variables without those of a dynamic loss scale. `is_scaled`: those in a LossScaleOptimizer.
Variables own_variables(const Optimizer& optimizer, const Json& config, bool is_scaled) {
  const std::string_view kind = optimizer.description().class_name();
  Variables result = optimizer.keras_variables();
  if (is_several(optimizer))
    for (const Optimizer* each : optimizers_in(optimizer, config))
      append(result, own_variables(*each, nullptr, is_scaled));
  if (kind == "Adafactor") return with_unused_slots(result, is_scaled);
  if (is_scaled && ends_with_product(result)) result.pop_back();  // Keras does not save it
  if (kind == "RMSprop") {  // it has its slots kind by kind, as Étude's optimizers
    result = optimizer.variables();
    if (const auto& scale = optimizer.loss_scale()) result.resize(result.size() - scale->variables().size());
  }
  // Keras makes the third slots of Adam after all others.
  if (kind.starts_with("Adam"))
    std::ranges::stable_partition(result, [](const Variable& each) { return !each.name().ends_with("_velocity_hat"); });
  return result;
}

void add_groups(const Optimizer& optimizer, const std::string& path, const Json& config, bool is_scaled,
                std::vector<KerasWeights>& groups) {
  groups.push_back({path + "vars", optimizer.name(), own_variables(optimizer, config, is_scaled)});
  if (!is_several(optimizer)) return;
  std::map<std::string, int> counts;
  for (const Optimizer* each : optimizers_in(optimizer, config)) {
    const std::string kind = snake_case(each->description().class_name());
    const int number = counts[kind]++;
    add_groups(*each, path + "optimizers/" + kind + (number ? '_' + std::to_string(number) : "") + '/', nullptr,
               is_scaled, groups);
  }
}

/// The variables that a file with `count` of them has, if it has those of this optimizer.
Variables first_variables(Variables all, std::size_t count) {
  const bool has_rate = all.size() > 1 && all[1].name().ends_with("/learning_rate");
  if (ends_with_product(all) && count + 1 + has_rate == all.size()) all.pop_back();
  // The config of Keras 2 has the learning rate.
  if (has_rate && count + 1 == all.size())
    all.erase(all.begin() + 1);
  else if (count > 0 && count < all.size() && count <= (has_rate ? 2U : 1U))
    all.resize(count);
  return all;
}

using Names = std::vector<std::string>;

/// The kind of a slot: "m" of "Adam/m/dense/kernel:0", and of "Adam/dense/kernel/m:0" in older files.
std::string kind_in(const std::string& name, bool older) {
  const std::size_t first = name.find('/'), last = name.rfind('/');
  if (first == name.npos) return name;
  return older ? name.substr(last + 1, name.rfind(':') - last - 1)
               : name.substr(first + 1, name.find('/', first + 1) - first - 1);
}

/// The names of an optimizer's slots, kind by kind; those of one kind are in the order of the trained variables. The
/// first name of all is that of the number of steps: "iteration:0", "Adam/iter:0" in older files.
std::vector<Names> kinds_of(const Names& names) {
  const bool older = names.front().find('/') != std::string::npos;
  std::vector<Names> kinds;
  std::map<std::string, std::size_t> numbers;
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto [found, is_new] = numbers.emplace(kind_in(names[i], older), kinds.size());
    if (is_new) kinds.emplace_back();
    kinds[found->second].push_back(names[i]);
  }
  return kinds;
}

/// The variables of an optimizer, each with the name of its value in an .h5 file that has these names. Nothing if they
/// are those of another one.
std::optional<std::vector<std::pair<Variable, std::string>>> h5_places(const Optimizer& optimizer, const Names& names,
                                                                       const Json& config) {
  if (names.empty() || !has_keras_variables(optimizer)) return {};
  std::vector<std::pair<Variable, std::string>> places;
  const auto add = [&](const Variables& variables, std::span<const std::string> of_variables) {
    if (variables.size() != of_variables.size()) return false;
    for (std::size_t i = 0; i < variables.size(); ++i) places.emplace_back(variables[i], of_variables[i]);
    return true;
  };
  if (names.front().find(':') == std::string::npos) {  // Keras 3
    if (!add(stored_variables(optimizer, config, names.size()), names)) return {};
    return places;
  }
  const std::vector<Variables> slots = optimizer.slots();
  Variables variables = optimizer.keras_variables();
  if (ends_with_product(variables)) variables.pop_back();
  // The learning rate is in the config. Those with further variables differ from the optimizers of Keras 2.
  std::size_t known = variables.size() > 1 && variables[1].name().ends_with("/learning_rate") ? 2 : 1;
  for (const Variables& each : slots) known += each.size();
  if (optimizer.loss_scale() || variables.size() != known) return {};
  const std::vector<Names> kinds = kinds_of(names);
  bool same = add({variables.front()}, std::span(names).first(1));
  if (!slots.empty()) same = same && kinds.size() == slots.size();  // else SGD, which has unused slots in Keras 2
  for (std::size_t kind = 0; same && kind < slots.size(); ++kind) same = add(slots[kind], kinds[kind]);
  if (!same) return {};
  return places;
}

}  // namespace

bool has_keras_variables(const Optimizer& optimizer) {
  if (is_several(optimizer))
    return std::ranges::all_of(optimizers_in(optimizer, nullptr),
                               [](const Optimizer* each) { return has_keras_variables(*each); });
  return !optimizer.description().empty();
}

std::vector<KerasWeights> keras_optimizer_weights(const Optimizer& optimizer, const Json& config) {
  std::vector<KerasWeights> groups;
  const std::string path = "optimizer/";
  if (const auto& scale = optimizer.loss_scale()) {
    // The iterations and the learning rate of the optimizer outside, which does not use them.
    Variables all{unused({}, DType::int32), unused({}, floatx())};
    append(all, scale->variables());
    append(all, own_variables(optimizer, config, true));
    groups.push_back({path + "vars", "loss_scale_optimizer", std::move(all)});
    add_groups(optimizer, path + "inner_optimizer/", config, true, groups);
  } else {
    add_groups(optimizer, path, config, false, groups);
  }
  return groups;
}

Task<std::optional<std::vector<StoredVariable>>> find_h5_optimizer(hdf5::Reader& file, const Optimizer& optimizer,
                                                                   const Json& config, Reading& reading) {
  const std::string root = "optimizer_weights";
  Names names;
  auto listing = [&] { names = file.texts(root, "weight_names").value_or(Names()); };
  co_await reading.run(listing);
  const auto places = h5_places(optimizer, names, config);
  if (!places) co_return std::nullopt;
  std::vector<StoredVariable> stored;
  for (const auto& [variable, name] : *places)
    stored.push_back({variable, &file, {.path = root + '/' + name, .shape = {}}});
  for (StoredVariable& each : stored) {
    auto step = [&] { each.dataset = file.dataset(each.dataset.path); };
    co_await reading.run(step);
    if (each.dataset.shape != each.variable.shape()) co_return std::nullopt;
  }
  co_return std::move(stored);
}

Variables stored_variables(const Optimizer& optimizer, const Json& config, std::size_t count) {
  const Variables all = keras_optimizer_weights(optimizer, config).front().variables;
  Variables stored = first_variables(all, count);
  // Keras 3 scales the loss only if that is the policy of the whole model, and Keras 2 does not save the scale.
  if (optimizer.loss_scale() && stored.size() != count)
    stored = first_variables(own_variables(optimizer, config, false), count);
  // The velocities of SGD without momentum in Keras 2, which it does not use.
  if (optimizer.slots().empty() && !is_several(optimizer) && stored.size() < count) stored.resize(1);
  return stored;
}

bool ends_with_product(const Variables& variables) { return variables.back().name().ends_with("/u_product"); }

void compute_product(const Optimizer& optimizer) {
  Variable product = optimizer.keras_variables().back();
  const double beta = static_cast<const optimizers::NadamOptions*>(optimizer.description().options())->beta_1;
  constexpr std::int64_t most = 1'000'000;  // by then it is 0
  double value = 1, decay = 1;
  for (std::int64_t step = 0; step < std::min(optimizer.iterations(), most); ++step) {
    decay *= 0.96;
    value *= beta * (1 - 0.5 * decay);
  }
  product.fill(value);
}

}  // namespace etude
