// Runs models of files for keras_applications.py and continuity.mjs. Each line on stdin is a request, each line on
// stdout its answer:
//   {"model": PATH, "weights": PATH, "x": NPZ, "predictions": NPZ, "y": NPZ, "steps": N, "save": PATH}
// Loads the model, a saved one or a description with the weights of another file; writes the predictions for the arrays
// in x, in the order of their names; makes N steps of training on all of x and y; and saves the model. "model" and "x"
// are required. {"losses"}, or {"error"}.
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "etude/etude.hpp"

using namespace etude;
using nlohmann::json;

namespace {

std::vector<Tensor> tensors_in(const std::string& path) {
  std::vector<Tensor> result;
  for (auto& [name, tensor] : read_npz(path)) result.push_back(tensor);
  return result;
}

ModelPtr model_of(const json& request) {
  const std::string path = request.at("model");
  if (!request.contains("weights")) return load_model(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  ModelPtr model = model_from_json(text);
  model->load_weights(request.at("weights").get<std::string>());
  return model;
}

json answer_to(const json& request) {
  const ModelPtr model = model_of(request);
  const std::vector<Tensor> x = tensors_in(request.at("x"));
  if (request.contains("predictions")) {
    std::vector<std::pair<std::string, Tensor>> named;
    for (const Tensor& each : model->predict_outputs_on_batch(Batch{x, {}, {}}))
      named.emplace_back(std::to_string(named.size()), each);
    write_npz(request.at("predictions"), named);
  }
  json losses = json::array();
  for (int step = 0; step < request.value("steps", 0); ++step)
    losses.push_back(model->train_on_batch(Batch{x, tensors_in(request.at("y")), {}})["loss"]);
  if (request.contains("save")) model->save(request.at("save").get<std::string>());
  return {{"losses", losses}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    json answer;
    try {
      answer = answer_to(json::parse(line));
    } catch (const std::exception& error) {
      answer = {{"error", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
