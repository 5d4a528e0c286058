#include "etude/saving/training_state.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/saving/model_config.hpp"
#include "etude/saving/model_state.hpp"

namespace etude {
namespace {

constexpr const char* where = "training state";

/// The variables of a fit, by the groups in which they are saved.
std::vector<std::pair<std::string, std::vector<NamedVariable>>> variables_of(const Training& training) {
  const Model& model = training.model();
  std::vector<Variable> metrics;
  for (const MetricPtr& metric : model.metrics())
    for (const Variable& variable : metric->variables()) metrics.push_back(variable);
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

/// Calls visit(callback, name) for each; the name is its kind, numbered where there are several of it.
template <class Visitor> void for_each_named(const std::vector<CallbackPtr>& callbacks, Visitor&& visit) {
  std::map<std::string, int> counts;
  for (const CallbackPtr& callback : callbacks) {
    CallbackState state = callback->state();
    const int number = counts[state.kind()]++;
    const std::string name = state.kind() + (number ? '_' + std::to_string(number) : "");
    visit(*callback, std::move(state), name + '/');
  }
}

TensorGroup callbacks_of(const Training& training) {
  TensorGroup group{"callbacks", {}};
  for_each_named(training.callbacks(), [&](const Callback&, const CallbackState& state, const std::string& prefix) {
    for (const auto& [name, tensor] : state.entries()) group.tensors.push_back({prefix + name, tensor});
  });
  return group;
}

/// A callback that was not there before has nothing to go on with: it begins now.
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

DataState data_state(const Json& json, const char* name) {
  const bool sound = json.contains(name) && json[name].is_array() &&
                     std::ranges::all_of(json[name], [](const Json& number) { return number.is_number_integer(); });
  check(sound, ErrorKind::data, where, "no numbers \"", name,
        "\" - expected what a training has saved - restore it by what wrote it, or choose another folder.");
  return json[name].get<DataState>();
}

Json parsed(const Checkpoint& state) {
  Json json = parse_json(state.document("training"), "training.json");
  check(json.is_object() && json.contains("within_epoch") && json["within_epoch"].is_boolean() && json.contains("draws"),
        ErrorKind::data, where,
        "no \"within_epoch\" and \"draws\" - expected what a training has saved - restore it by what wrote it, or choose "
        "another folder.");
  return json;
}

}  // namespace

Checkpoint training_state(const Training& training, TrainingMoment moment, const Logs& logs) {
  const bool epoch_over = moment == TrainingMoment::epoch_end;
  const DataHandler& data = training.data();
  const Json json = {{"within_epoch", !epoch_over},
                     {"data", data.state(epoch_over)},
                     {"validation", training.validation_state()},
                     {"draws", draws_of(training.model())}};
  Checkpoint state{.step = data.taken(), .tensors = {}, .documents = {{"training", json_text(json, 2)}}};
  for (const auto& [name, variables] : variables_of(training)) state.tensors.push_back({name, values_of(variables)});
  state.tensors.push_back(callbacks_of(training));
  state.tensors.push_back(logs_of(logs));
  return state;
}

Task<> resume_training(Training& training, const Checkpoint& state) {
  const Json json = parsed(state);
  if (restore_draws(training.model(), json["draws"], where)) training.retrace();
  co_await training.prepare();
  training.data().restore(data_state(json, "data"));
  training.restore_validation(data_state(json, "validation"));
  restore_values(training, state);
  training.resumed.within_epoch = json["within_epoch"].get<bool>();
  training.resumed.stopped = training.model().stop_training;
  for (const auto& [name, value] : state.group("logs")) training.resumed.logs.set(name, value.item());
}

void restore_values(Training& training, const Checkpoint& state) {
  for (const auto& [name, variables] : variables_of(training))
    assign_all(variables, state.group(name), std::string(where) + ' ' + name);
  restore_callbacks(training, state.group("callbacks"));
}

}  // namespace etude
