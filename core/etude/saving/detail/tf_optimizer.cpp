#include "etude/saving/detail/tf_optimizer.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "etude/saving/detail/keras_optimizer.hpp"

namespace etude {
namespace {

using Variables = std::vector<Variable>;
using Found = std::optional<std::vector<TfVariable>>;

/// The kinds of slots here, and their names in older versions of tf.keras.
constexpr std::pair<std::string_view, std::string_view> older_names[] = {{"momentum", "m"},
                                                                         {"momentum", "momentum"},
                                                                         {"velocity", "v"},
                                                                         {"velocity", "rms"},
                                                                         {"velocity_hat", "vhat"},
                                                                         {"norm", "v"},
                                                                         {"average_gradient", "mg"},
                                                                         {"accumulator", "accumulator"},
                                                                         {"linear", "linear"},
                                                                         {"accumulated_grad", "accum_grad"},
                                                                         {"accumulated_delta_var", "accum_var"}};

bool is_rate(const Variable& variable) { return variable.name().ends_with("/learning_rate"); }

/// Adds a variable that the optimizer of the checkpoint has under a name. Returns whether it has one.
bool add(const TfObjectGraph& graph, std::uint32_t object, std::string_view name, const Variable& variable,
         std::vector<TfVariable>& found) {
  const auto child = graph.child(object, name);
  if (!child || graph.object(*child).key.empty()) return false;
  found.push_back({variable, std::string(graph.object(*child).key)});
  return true;
}

/// The variables of optimizers of Keras 2.11 and later, in the order in which they were made.
Found find_in_list(const TfObjectGraph& graph, std::uint32_t list, std::uint32_t object, const Optimizer& optimizer) {
  const std::vector<std::uint32_t> stored = graph.list(list);
  const Variables all = keras_optimizer_weights(optimizer).front().variables;
  const Variables variables = stored_variables(optimizer, nullptr, stored.size());
  if (variables.size() != stored.size() && variables.size() != 1) return {};
  std::vector<TfVariable> found;
  for (std::size_t i = 0; i < variables.size(); ++i)
    found.push_back({variables[i], std::string(graph.object(stored[i]).key)});
  // Keras 2 has it beside the list.
  const auto has_it = [&](const Variables& some) { return some.size() > 1 && is_rate(some[1]); };
  if (has_it(all) && !has_it(variables)) add(graph, object, "learning_rate", all[1], found);
  return found;
}

/// The slots of earlier optimizers, which belong to the trained variables.
Found find_slots(const TfObjectGraph& graph, std::uint32_t object, const Optimizer& optimizer, const Variables& trained,
                 const TfObjects& objects) {
  const std::vector<TfObjectGraph::Slot>& stored = graph.object(object).slots;
  std::vector<TfVariable> found;
  const auto find_slot = [&](const Variable& variable, const Variable& slot) {
    const std::string prefix = optimizer.name() + '/' + variable.name() + '_';
    const auto of = objects.find(variable.id());
    if (of == objects.end() || !slot.name().starts_with(prefix)) return false;
    const std::string_view kind = std::string_view(slot.name()).substr(prefix.size());
    const auto is_same = [&](const TfObjectGraph::Slot& each) {
      return each.variable == of->second && !graph.object(each.value).key.empty() &&
             std::ranges::find(older_names, std::pair(kind, each.name)) != std::end(older_names);
    };
    const auto same = std::ranges::find_if(stored, is_same);
    if (same != stored.end()) found.push_back({slot, std::string(graph.object(same->value).key)});
    return same != stored.end();
  };
  for (const Variables& kind : optimizer.slots()) {
    if (kind.size() != trained.size()) return {};
    for (std::size_t i = 0; i < kind.size(); ++i)
      if (!find_slot(trained[i], kind[i])) return {};
  }
  if (found.size() != stored.size()) return {};
  const Variables all = optimizer.keras_variables();
  if (ends_with_product(all)) return {};  // Nadam had another schedule
  if (!add(graph, object, "iter", all.front(), found)) return {};
  if (all.size() > 1 && is_rate(all[1])) add(graph, object, "learning_rate", all[1], found);
  return found;
}

}  // namespace

Found find_tf_optimizer(const TfObjectGraph& graph, std::uint32_t object, const Optimizer& optimizer,
                        const Variables& trained, const TfObjects& objects) {
  if (optimizer.loss_scale() || !has_keras_variables(optimizer)) return {};
  if (const auto list = graph.child(object, "variables")) return find_in_list(graph, *list, object, optimizer);
  return find_slots(graph, object, optimizer, trained, objects);
}

}  // namespace etude
