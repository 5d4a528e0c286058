#include <map>

#include "conformance.hpp"
#include "etude/etude.hpp"

// The family of data: how arrays are cut into batches, and what their samples count.
namespace etude::conformance {
namespace {

std::string run_flow(const json& test) {
  const json &config = test["config"], &inputs = test["inputs"], &expect = test["expect"];
  const bool tfjs = test["target"] == "make_batches";
  const std::int64_t rows = tfjs ? inputs["size"] : inputs["num_samples"];
  TensorLikeOptions arrays{.batch_size = (tfjs ? inputs : config)["batch_size"].get<std::int64_t>(),
                           .shuffle = config.value("shuffle", false) ? Shuffle::samples : Shuffle::none};
  std::string warning;
  DataHandlerOptions once{.warn = [&](std::string_view text) { warning = text; }};
  if (config.contains("steps_per_epoch")) once.steps_per_epoch = config["steps_per_epoch"].get<std::int64_t>();
  const Tensor row(Shape{rows, 1});
  DataHandler data(std::make_unique<TensorLikeAdapter>(Batch{{row}, {row}, {row}}, arrays), once);
  const json batches = data.inferred_steps() ? json(*data.inferred_steps()) : json();

  json steps = json::array(), ranges = json::array();
  std::size_t kinds = 0;
  for ([[maybe_unused]] const int epoch : data.enumerate_epochs())
    for (const std::int64_t step : data.steps()) {
      data.fetch();
      const Batch* batch = data.take();
      if (!batch) {
        data.stop_iteration();
        break;
      }
      const std::int64_t begin = ranges.empty() ? 0 : ranges.back()[1].get<std::int64_t>();
      steps.push_back(step);
      ranges.push_back({begin, begin + batch->size()});
      kinds = batch->x.size() + batch->y.size() + batch->sample_weight.size();
    }
  const std::map<std::string, json> got{{"steps_seen", steps},
                                        {"num_batches", batches},
                                        {"batch_tuple_len_with_sample_weight", kinds},
                                        {"steps_run", steps.size()},
                                        {"ranges", ranges}};
  for (const auto& [name, want] : expect.items()) {
    std::string text;
    if (name == "warning_contains")
      text = warning.find(want.get<std::string>()) == std::string::npos ? "warning: " + warning : "";
    else
      text = got.contains(name) ? expect_equal(name.c_str(), got.at(name), want) : "unknown expectation " + name;
    if (!text.empty()) return text;
  }
  return {};
}

ClassWeight class_weight_of(const json& config) {
  ClassWeight result;
  for (const auto& [label, weight] : config["class_weight"].items()) result[std::stoi(label)] = weight;
  return result;
}

/// What the samples of the first batch count.
std::string run_batch_weights(const json& test) {
  const json& inputs = test["inputs"];
  ClassWeightAdapter adapter(
      std::make_unique<TensorLikeAdapter>(Batch{{tensor_of(inputs["x"])}, {tensor_of(inputs["y"])}, {}},
                                          TensorLikeOptions{.batch_size = test["config"]["batch_size"]}),
      class_weight_of(test["config"]));
  adapter.begin_epoch(0);
  adapter.fetch();
  json expect = test["expect"];
  expect["value"] = expect["batch_sample_weight"];
  return difference_from(expect, adapter.take()->sample_weight.front());
}

}  // namespace

std::string run_data(const json& test) {
  const std::string target = test["target"];
  if (target == "ArrayDataAdapter" || target == "make_batches") return run_flow(test);
  if (target == "ArrayDataAdapter.class_weight") return run_batch_weights(test);
  if (target == "class_weight_to_sample_weights")
    return difference_from(test["expect"],
                           class_weights_of(tensor_of(test["inputs"]["y"]), class_weight_of(test["config"])));
  throw Missing(target);
}

}  // namespace etude::conformance
