#include <utility>

#include "etude/base/error.hpp"
#include "etude/data/columns.hpp"
#include "etude/data/data.hpp"
#include "etude/training/model.hpp"

// Inputs and outputs by name.

namespace etude {
namespace {

NamedTensors by_name(std::vector<Tensor> outputs, const std::vector<std::string>& names, const char* method) {
  check(names.size() == outputs.size(), ErrorKind::value, method, "a model whose ", outputs.size(),
        " outputs are no dict - expected outputs by name - take its outputs in order, or return a dict of them.");
  NamedTensors result;
  for (std::size_t i = 0; i < names.size(); ++i) result.emplace(names[i], std::move(outputs[i]));
  return result;
}

}  // namespace

/// The batch in the order of the model's inputs and outputs. It keeps names where the model has a dict, and where the
/// model does not know its names before it is called.
StepData Model::in_model_order(const StepData& given) {
  const std::vector<std::string> inputs = input_names(), outputs = output_names();
  StepData data = etude::in_order(given, inputs, outputs);
  if (!inputs.empty())
    data.names.x = input_keys();
  else if (std::vector<std::string>* names = call_names())
    *names = data.names.x;
  else if (!data.names.x.empty())
    static_cast<void>(places_of(data.names.x, inputs, "x", true));  // throws
  if (outputs.empty()) return data;
  const std::vector<std::string> keys = output_keys();
  const auto names_for = [&](const std::vector<Value>& values) {
    return values.size() == keys.size() ? keys : std::vector<std::string>();
  };
  data.names.y = names_for(data.y);
  data.names.sample_weight = names_for(data.sample_weight);
  return data;
}

std::vector<std::string> Model::names_in_logs(const std::vector<std::string>& outputs) const {
  std::vector<std::string> names;
  for (const std::string& output : outputs) names.push_back(plain_path(output));
  return names;
}

NamedTensors Model::predict_named(const Data& x, const PredictOptions& options) {
  std::vector<Tensor> outputs = predict_outputs(x, options);
  return by_name(std::move(outputs), prediction_keys_, "predict_named");
}

NamedTensors Model::predict_named_on_batch(const Data& x) {
  std::vector<Tensor> outputs = predict_outputs_on_batch(x);
  return by_name(std::move(outputs), prediction_keys_, "predict_named_on_batch");
}

NamedTensors Model::call_named(const NamedTensors& inputs, bool training) {
  std::vector<std::string> given;
  std::vector<Tensor> tensors, ordered;
  for (const auto& [name, tensor] : inputs) {
    given.push_back(name);
    tensors.push_back(tensor);
  }
  for (const std::ptrdiff_t place : places_of(given, input_names(), "x", true))
    ordered.push_back(tensors[static_cast<std::size_t>(place)]);
  std::vector<Tensor> outputs = call_all(ordered, training);
  return by_name(std::move(outputs), output_keys(), "call_named");
}

}  // namespace etude
