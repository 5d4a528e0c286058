#include <map>

#include "conformance.hpp"
#include "etude/data/class_weight.hpp"
#include "etude/data/data_handler.hpp"
#include "etude/data/dataset.hpp"
#include "etude/data/detail/tensor_like_adapter.hpp"

// The family of adapters.
namespace etude::conformance {
namespace {

ClassWeight class_weight_of(const json& config) {
  ClassWeight weights;
  for (const auto& [label, weight] : config.at("class_weight").items()) weights[std::stoi(label)] = weight;
  return weights;
}

std::string run_class_weight(const json& test) {
  const Tensor y = tensor_of(test.at("inputs").at("y"));
  return difference_from(test.at("expect"), class_weights_of(y, class_weight_of(test.at("config"))));
}

std::string run_weighted_batch(const json& test) {
  const json &config = test.at("config"), &inputs = test.at("inputs");
  const TensorLikeOptions arrays{.batch_size = config.at("batch_size").get<std::int64_t>()};
  Batch batch{{tensor_of(inputs.at("x"))}, {tensor_of(inputs.at("y"))}, {}};
  ClassWeightAdapter adapter(std::make_unique<TensorLikeAdapter>(std::move(batch), arrays), class_weight_of(config));
  json expect = test.at("expect");
  expect["value"] = expect.at("batch_sample_weight");
  adapter.fetch();
  return difference_from(expect, adapter.consume()->sample_weight.at(0));
}

/// Keras's sampler distributes batches in turn, as Dataset::shard does; with drop_last, each gets the same number.
std::string run_sampler(const json& test) {
  const json &config = test.at("config"), &expect = test.at("expect");
  const std::int64_t shards = config.at("num_data_shards"), batches = test.at("inputs").at("num_batches");
  const bool drop = config.at("drop_last");
  if (shards < 1 || batches < 0 || batches > most_rows) throw Missing("so many batches and shards");
  json got = json::array();
  for (std::int64_t shard = 0; shard < shards; ++shard) {
    json numbers = json::array();
    const Dataset whole = Dataset::range(drop ? batches / shards * shards : batches);
    for (const Batch& element : whole.shard(shards, shard)) numbers.push_back(element.x[0].item());
    got.push_back(numbers);
  }
  return expect_equal("batches_per_shard", got, expect.at("batches_per_shard"));
}

std::string run_arrays(const json& test) {
  const json &config = test.at("config"), &inputs = test.at("inputs"), &expect = test.at("expect");
  const bool tfjs = test.at("target") == "make_batches";
  const std::int64_t rows = tfjs ? inputs.at("size") : inputs.at("num_samples");
  TensorLikeOptions arrays{.batch_size = (tfjs ? inputs : config).at("batch_size").get<std::int64_t>(),
                           .shuffle = config.value("shuffle", false) ? Shuffle::samples : Shuffle::none};
  std::string warning;
  DataHandlerOptions once{.warn = [&](std::string_view text) { warning = text; }};
  if (config.contains("steps_per_epoch")) once.steps_per_epoch = config.at("steps_per_epoch").get<std::int64_t>();
  if (rows < 0 || rows > most_rows) throw Missing(std::to_string(rows) + " rows");
  const Tensor row(Shape{rows, 1});
  DataHandler data(std::make_unique<TensorLikeAdapter>(Batch{{row}, {row}, {row}}, arrays), once);
  const json batches = data.inferred_steps() ? json(*data.inferred_steps()) : json();

  json steps = json::array(), ranges = json::array();
  std::size_t kinds = 0;
  for ([[maybe_unused]] const int epoch : data.enumerate_epochs())
    for (const std::int64_t step : data.steps()) {
      data.fetch();
      const Batch* batch = data.consume();
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
      text = expect_equal(name.c_str(), known(got, name), want);
    if (!text.empty()) return text;
  }
  return {};
}

}  // namespace

std::string run_data(const json& test) {
  const std::string target = test.at("target");
  if (target == "class_weight_to_sample_weights") return run_class_weight(test);
  if (target == "ArrayDataAdapter.class_weight") return run_weighted_batch(test);
  if (target == "DistributedBatchSampler") return run_sampler(test);
  if (target == "ArrayDataAdapter" || target == "make_batches") return run_arrays(test);
  throw Missing(target);
}

}  // namespace etude::conformance
