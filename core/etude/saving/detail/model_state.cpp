#include "etude/saving/detail/model_state.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/classes/detail/snake_case.hpp"
#include "etude/saving/detail/numbering.hpp"

namespace etude {
namespace {

using Own = const std::vector<Variable>& (Layer::*)() const;

/// The layers inside a layer, each once, with their places; a layer's own come before it.
class Walk {
 public:
  explicit Walk(const Layer& layer) {
    static_cast<void>(layer.layers_inside());  // throws if they are nested too deep
    visit_inside(layer, "");
  }

  std::vector<NamedLayer> layers;

 private:
  void visit_inside(const Layer& layer, const std::string& path) {
    Numbering numbering;
    for (const LayerPtr& inner : layer.layers()) {
      const std::string name = path + numbering.next(snake_case(inner->class_name()));
      if (!seen_.insert(inner.get()).second) continue;
      visit_inside(*inner, name + '/');
      layers.push_back({name, inner});
    }
  }

  std::set<const Layer*> seen_;
};

std::vector<NamedVariable> gather(const Layer& layer, Own own) {
  std::vector<NamedVariable> result;
  const auto add = [&](const Layer& of, const std::string& path) {
    Numbering numbering;  // variables that a user created may have equal names
    for (const Variable& variable : (of.*own)()) {
      const std::string& own_name = variable.name();
      const bool prefixed = own_name.starts_with(of.name() + '/');
      const std::string name = path + own_name.substr(prefixed ? of.name().size() + 1 : own_name.rfind('/') + 1);
      result.push_back({numbering.next(name), variable});
    }
  };
  for (const auto& [name, inner] : Walk(layer).layers) add(*inner, name + '/');
  add(layer, "");
  return result;
}

/// The tensors of the variables' names. Throws Error(data) if one is missing or superfluous, or has another shape.
std::vector<StoredTensor*> in_order(const std::vector<NamedVariable>& variables, std::vector<StoredTensor>& tensors,
                                    const std::string& where) {
  std::map<std::string, StoredTensor*, std::less<>> by_name;
  for (StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  std::vector<StoredTensor*> result;
  for (const auto& [name, variable] : variables) {
    const auto found = by_name.find(name);
    check(found != by_name.end(), ErrorKind::data, where, "no tensor \"", name, "\" among ", tensors.size(),
          " - expected one for each of ", variables.size(),
          " variables - load them into a model of the same layers and optimizer.");
    check(found->second->shape == variable.shape(), ErrorKind::data, where, '"', name, "\" of shape ",
          found->second->shape, " - expected ", variable.shape(),
          " - load it into a model of the same layers and optimizer.");
    result.push_back(found->second);
  }
  check(tensors.size() == variables.size(), ErrorKind::data, where, tensors.size(), " tensors - expected ",
        variables.size(), " - load them into a model of the same layers and optimizer.");
  return result;
}

}  // namespace

std::vector<NamedVariable> named_weights(const Layer& layer) { return gather(layer, &Layer::own_weights); }
std::vector<NamedVariable> named_states(const Layer& layer) { return gather(layer, &Layer::own_states); }

void clear_states(const Layer& layer, std::string_view where) {
  constexpr std::int64_t least = std::int64_t{1} << 20, factor = 64;
  std::int64_t most = least, bytes = 0;
  for (const auto& [name, weight] : named_weights(layer))
    most = checked::add_or_most(most, checked::multiply_or_most(weight.size(), factor));
  std::vector<NamedVariable> states = named_states(layer);
  std::erase_if(states, [](const NamedVariable& state) { return state.variable.replicas() > 0; });
  for (const auto& [name, state] : states) {
    std::int64_t size = static_cast<std::int64_t>(size_of(state.dtype()));
    for (const std::int64_t extent : state.shape()) size = checked::multiply_or_most(size, extent);
    bytes = checked::add_or_most(bytes, size);
  }
  check(bytes <= most, ErrorKind::data, where, "states of ", bytes, " bytes between the batches - expected at most ",
        most, ", as far as the weights justify - build the model for a smaller batch.");
  for (auto& [name, state] : states) state.assign(Tensor(state.shape(), state.dtype()));
}

std::vector<NamedVariable> numbered(const std::vector<Variable>& variables) {
  std::vector<NamedVariable> result;
  for (const Variable& variable : variables) result.push_back({std::to_string(result.size()), variable});
  return result;
}

std::vector<Variable> without(std::vector<Variable> variables, const std::vector<Variable>& others) {
  std::erase_if(variables,
                [&](const Variable& variable) { return std::ranges::find(others, variable) != others.end(); });
  return variables;
}

std::vector<NamedLayer> drawing_layers(const Layer& layer) {
  std::vector<NamedLayer> layers = Walk(layer).layers;
  std::erase_if(layers, [](const NamedLayer& each) { return !each.layer->random_key(); });
  return layers;
}

std::vector<NamedTensor> values_of(const std::vector<NamedVariable>& variables) {
  std::vector<NamedTensor> result;
  for (const auto& [name, variable] : variables) result.push_back({name, variable.value()});
  return result;
}

std::vector<StoredTensor> stored_values_of(const std::vector<NamedVariable>& variables, WriteCount* count) {
  std::vector<StoredTensor> result;
  for (const auto& [name, variable] : variables) {
    const std::uint64_t bytes = bytes_of(variable);
    if (count) count->expect(bytes);
    result.push_back({name, variable.shape(), variable.dtype(), [held = variable, bytes, count] {
                        if (count) count->begin(bytes);
                        return held.value();
                      }});
  }
  return result;
}

void assign_all(const std::vector<NamedVariable>& variables, std::vector<NamedTensor> tensors, const std::string& where,
                const LoadProgress& progress) {
  std::vector<StoredTensor> stored;
  for (auto& [name, tensor] : tensors)
    stored.push_back(
        {std::move(name), tensor.shape(), tensor.dtype(), [held = std::exchange(tensor, {})] { return held; }});
  Reading reading(nullptr, progress);
  assign_all(variables, std::move(stored), where, reading).get();
}

Task<> assign_all(std::vector<NamedVariable> variables, std::vector<StoredTensor> tensors, std::string where,
                  Reading& reading) {
  const std::vector<StoredTensor*> of_variables = in_order(variables, tensors, where);
  // All tensors are read once before the first variable is set, so that a damaged file changes no variable. Variables
  // without a value are not checked in advance.
  std::uint64_t all = 0;
  for (const auto& [name, variable] : variables) all += bytes_of(variable) * (variable.replicas() > 0 ? 2 : 1);
  ReadCount count(reading, all);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].variable.replicas() == 0) continue;
    auto step = [&] { static_cast<void>(of_variables[i]->read()); };
    co_await reading.run(step);
    count.add(bytes_of(variables[i].variable));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    auto step = [&] { variables[i].variable.assign(of_variables[i]->read()); };
    co_await reading.run(step);
    of_variables[i]->read = nullptr;  // frees what it holds
    count.add(bytes_of(variables[i].variable));
  }
}

}  // namespace etude
