// TypeScript requires exactly the options without which no object can be created.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "config_samples.hpp"
#include "etude/etude.hpp"

using namespace etude;
using nlohmann::json;

namespace {

/// "DenseOptions.units", …
using Required = std::set<std::string>;

template <class T> bool is_made(const std::string& class_name, const json& config) {
  try {
    from_json<T>(json{{"class_name", class_name}, {"config", config}}.dump());
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// The required options of a kind of class, by its table.
template <class T> void add_demanded(Required& demanded) {
  for (const ClassEntry* entry : class_table<T>().entries())
    for (const Field& field : entry->fields)
      if (field.required) demanded.insert(std::string(entry->class_name) + "Options." + field.name);
}

/// The options without which no object of a class can be created, among those of the samples.
template <class T> void add_refused(Required& refused) {
  for (const std::string& class_name : class_names<T>()) {
    const json given = samples::needed(class_name);
    for (const auto& [name, value] : given.items()) {
      json without = given;
      without.erase(name);
      if (!is_made<T>(class_name, without)) refused.insert(class_name + "Options." + name);
    }
    CAPTURE(class_name);
    CHECK(is_made<T>(class_name, given));
  }
}

template <class Make> bool is_refused(Make make) {
  try {
    make();
  } catch (const Error&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("TypeScript requires the options that constructors and Keras require", "[config]") {
  Required refused;
  add_refused<Layer>(refused);
  add_refused<Loss>(refused);
  add_refused<Metric>(refused);
  add_refused<Optimizer>(refused);
  add_refused<LearningRateSchedule>(refused);
  add_refused<Initializer>(refused);
  add_refused<Regularizer>(refused);
  add_refused<Constraint>(refused);
  // Options that configs do not contain.
  if (is_refused([] { callbacks::backup_and_restore({}); })) refused.insert("BackupAndRestoreOptions.backup_dir");
  if (is_refused([] { callbacks::csv_logger({}); })) refused.insert("CSVLoggerOptions.filename");
  if (is_refused([] { callbacks::learning_rate_scheduler({}); }))
    refused.insert("LearningRateSchedulerOptions.schedule");
  if (is_refused([] { callbacks::model_checkpoint({}); })) refused.insert("ModelCheckpointOptions.filepath");
  if (is_refused([] { callbacks::profiler({}); })) refused.insert("ProfilerOptions.filepath");
  // It needs one of two options.
  CHECK(refused.erase("DiscretizationOptions.bin_boundaries") == 1);
  // Keras requires them; Étude has a default.
  const Required of_keras{"ActivationOptions.activation", "AlphaDropoutOptions.rate",
                          "DropoutOptions.rate",          "EinsumDenseOptions.output_shape",
                          "GaussianDropoutOptions.rate",  "GaussianNoiseOptions.stddev",
                          "InputOptions.shape",           "PermuteOptions.dims",
                          "RescalingOptions.scale",       "ReshapeOptions.target_shape",
                          "SpatialDropout1DOptions.rate", "SpatialDropout2DOptions.rate",
                          "SpatialDropout3DOptions.rate"};
  Required expected = refused;
  expected.insert(of_keras.begin(), of_keras.end());
  Required demanded;
  add_demanded<Layer>(demanded);
  add_demanded<Loss>(demanded);
  add_demanded<Metric>(demanded);
  add_demanded<Optimizer>(demanded);
  add_demanded<LearningRateSchedule>(demanded);
  add_demanded<Initializer>(demanded);
  add_demanded<Regularizer>(demanded);
  add_demanded<Constraint>(demanded);
  add_demanded<Callback>(demanded);
  for (const Field& field : fields_of<InputOptions>)
    if (field.required) demanded.insert(std::string("InputOptions.") + field.name);
  CHECK(demanded == expected);
}
