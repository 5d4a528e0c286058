#include "etude/saving/detail/training_state.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/model_state.hpp"
#include "etude/saving/detail/numbering.hpp"
#include "etude/training/detail/compiled_trainable.hpp"
#include "etude/training/detail/training.hpp"

namespace etude {
namespace {

constexpr const char* where = "training state";

/// The variables of a fit, by the groups in which they are saved.
std::vector<std::pair<std::string, std::vector<NamedVariable>>> variables_of(const Training& training) {
  const Model& model = training.model();
  std::vector<Variable> metrics;
  for (const MetricPtr& metric : model.metrics())
    for (const Variable& variable : metric->variables()) metrics.push_back(variable);
  {
    // Saving the model may have sorted them, and the numbers in a checkpoint must not depend on that.
    const CompiledTrainable trainable(model.compiled_trainable());
    model.optimizer().sort_slots(model.trainable_variables());
  }
  std::vector<std::pair<std::string, std::vector<NamedVariable>>> groups{
      {"model", named_weights(model)},
      {"states", named_states(model)},
      {"optimizer", numbered(model.optimizer().variables())},
      {"metrics", numbered(metrics)}};
  std::vector<Variable> others;
  const auto known = [&](const Variable& variable) {
    return std::ranges::any_of(groups, [&](const auto& group) {
      return std::ranges::find(group.second, variable, &NamedVariable::variable) != group.second.end();
    });
  };
  std::ranges::copy_if(training.step().variables(), std::back_inserter(others), std::not_fn(known));
  groups.emplace_back("others", numbered(others));
  return groups;
}

/// Calls visit(callback, name) for each; the name is its kind, with a number if there are several of that kind.
template <class Visitor> void for_each_named(const std::vector<CallbackPtr>& callbacks, Visitor&& visit) {
  Numbering numbering;
  for (const CallbackPtr& callback : callbacks) {
    CallbackState state = callback->state();
    const std::string name = numbering.next(state.kind());
    visit(*callback, std::move(state), name + '/');
  }
}

/// The name of the group that holds the state before the first step.
constexpr const char* start = "start";

bool is_start(const Checkpoint& state) {
  return std::ranges::find(state.tensors, start, &TensorGroup::name) != state.tensors.end();
}

/// The state of the callbacks that remember the start, or of all.
TensorGroup callbacks_of(const Training& training, bool of_start = false) {
  TensorGroup group{of_start ? start : "callbacks", {}};
  for_each_named(training.callbacks(),
                 [&](const Callback& callback, const CallbackState& state, const std::string& prefix) {
                   if (of_start && !callback.remembers_start()) return;
                   for (const auto& [name, tensor] : state.entries()) group.tensors.push_back({prefix + name, tensor});
                 });
  return group;
}

/// A callback without saved state starts now.
void restore_callbacks(const Training& training, const std::vector<NamedTensor>& tensors) {
  for_each_named(training.callbacks(), [&](Callback& callback, const CallbackState& now, const std::string& prefix) {
    CallbackState::Entries entries;
    for (const auto& [name, tensor] : tensors)
      if (name.starts_with(prefix)) entries.emplace_back(name.substr(prefix.size()), tensor);
    if (!entries.empty()) callback.restore(CallbackState(now.kind(), std::move(entries)));
  });
}

TensorGroup logs_of(const Logs& logs) {
  TensorGroup group{"logs", {}};
  for (const auto& [name, value] : logs.values()) group.tensors.push_back({name, Tensor::from<double>({}, {value})});
  return group;
}

/// Numbers that a double holds exactly.
Tensor tensor_of(const DataState& state) {
  return Tensor::from({std::ssize(state)}, std::vector<double>(state.begin(), state.end()));
}
DataState data_state(const CallbackState& place, std::string_view name) {
  DataState state;
  if (place.contains(name))
    for (const double number : place.tensor(name).data<double>()) state.push_back(static_cast<std::int64_t>(number));
  return state;
}

}  // namespace

Checkpoint training_state(const Training& training, TrainingMoment moment, const Logs& logs) {
  const bool epoch_over = moment == TrainingMoment::epoch_end;
  const DataHandler& data = training.data();
  const DataState validation = training.validation_state();
  TensorGroup place{"place", {{"data", tensor_of(data.state(epoch_over))}}};
  if (!validation.empty()) place.tensors.push_back({"validation", tensor_of(validation)});
  if (!epoch_over) place.tensors.push_back({"within_epoch", Tensor::from<bool>({}, {true})});
  Checkpoint state{.step = data.consumed(),
                   .tensors = {std::move(place)},
                   .documents = {{"draws", json_text(draws_of(training.model()), 2)}}};
  for (const auto& [name, variables] : variables_of(training)) state.tensors.push_back({name, values_of(variables)});
  state.tensors.push_back(callbacks_of(training));
  state.tensors.push_back(logs_of(logs));
  return state;
}

std::optional<Checkpoint> start_state(const Training& training) {
  TensorGroup group = callbacks_of(training, true);
  if (group.tensors.empty()) return {};
  return Checkpoint{.step = 0, .tensors = {std::move(group)}};
}

Task<> resume_training(Training& training, const Checkpoint& state) {
  if (is_start(state)) {
    restore_callbacks(training, state.group(start));
    co_return;
  }
  CallbackState place(where);
  for (const auto& [name, tensor] : state.group("place")) place.set(name, tensor);
  const Json draws = parse_json(state.document("draws"), "draws.json");
  if (restore_draws(training.model(), draws, where)) training.retrace();
  co_await training.prepare();
  training.data().restore(data_state(place, "data"));
  training.restore_validation(data_state(place, "validation"));
  restore_values(training, state);
  training.resumed.within_epoch = place.contains("within_epoch");
  training.resumed.stopped = training.model().stop_training;
  for (const auto& [name, value] : state.group("logs")) training.resumed.logs.set(name, value.item());
}

void restore_values(Training& training, const Checkpoint& state) {
  for (const auto& [name, variables] : variables_of(training))
    assign_all(variables, state.group(name), std::string(where) + ' ' + name);
  restore_callbacks(training, state.group("callbacks"));
}

}  // namespace etude
