#include "etude/saving/feature_space_config.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "etude/base/error.hpp"
#include "etude/saving/config.hpp"
#include "etude/saving/detail/config_fields.hpp"
#include "etude/saving/detail/input_config.hpp"
#include "etude/saving/detail/object_parts.hpp"

namespace etude {
namespace {

constexpr const char* where = "FeatureSpace";
constexpr double largest = std::numeric_limits<double>::max();
constexpr const char* module = "keras.src.layers.preprocessing.feature_space";

/// The numbers of a layer's state, or those of its options; null if it has not adapted.
Json numbers_of(const Layer& layer, std::size_t place, const Json& option) {
  if (option.is_number()) return Json::array({option});
  const std::vector<Variable> state = layer.variables();
  if (!option.is_null() || place >= state.size()) return option;
  const Tensor value = state[place].value();
  Json numbers = Json::array();
  for (std::int64_t i = 0; i < value.size(); ++i) {
    if (std::isnan(value.at(i))) return nullptr;
    numbers.push_back(std::clamp(value.at(i), -largest, largest));  // JSON has no infinity
  }
  return numbers;
}

/// A layer with its state as options, as Keras has them for known states.
Json layer_json(const Layer& layer) {
  Json json = object_to_json<Layer>(layer);
  Json& config = json["config"];
  if (layer.class_name() == "Normalization") {
    config["mean"] = numbers_of(layer, 0, config["mean"]);
    config["variance"] = numbers_of(layer, 1, config["variance"]);
  }
  if (layer.class_name() == "Discretization") {
    config["bin_boundaries"] = numbers_of(layer, 0, config["bin_boundaries"]);
    if (config["bin_boundaries"].is_array()) config["num_bins"] = config["bin_boundaries"].size() + 1;
  }
  return json;
}

Json part(const char* class_name, Json config) {
  return {
      {"module", module}, {"class_name", class_name}, {"config", std::move(config)}, {"registered_name", class_name}};
}

}  // namespace

std::string to_json(const FeatureSpace& space, int indent) {
  const FeatureParts parts = space.parts();
  Json features = Json::object(), crosses = Json::array();
  for (const FeatureParts::Column& column : parts.columns)
    add_member(features, column.name,
               part("Feature", {{"dtype", column.dtype},
                                {"preprocessor", layer_json(*column.layer)},
                                {"output_mode", column.output_mode}}));
  for (const FeatureCross& cross : parts.crosses)
    crosses.push_back(part("Cross", {{"feature_names", cross.feature_names},
                                     {"crossing_dim", *cross.crossing_dim},
                                     {"output_mode", cross.output_mode}}));
  const Json config = {
      {"features", std::move(features)}, {"output_mode", parts.output_mode}, {"crosses", std::move(crosses)}};
  Json json = {{"module", "keras.utils"}, {"class_name", where}, {"config", config}, {"registered_name", nullptr}};
  // By it Keras knows that the layers have adapted.
  if (space.adapted())
    for (const FeatureParts::Column& column : parts.columns) json["build_config"][column.name] = Json::object();
  return json_text(json, indent);
}

std::shared_ptr<FeatureSpace> feature_space_from_json(std::string_view text) {
  const Json json = parse_json(text, where);
  check(class_name_in(json) == where, ErrorKind::data, where, "a text of class ", class_name_in(json),
        " - expected FeatureSpace - pass what to_json() wrote.");
  const Json& config = config_in(json);
  const auto features = config.find("features"), crosses = config.find("crosses");
  check(features != config.end() && features->is_object(), ErrorKind::data, where,
        "a config without \"features\" - expected an object of them - check the text.");
  FeatureParts parts;
  parts.output_mode = field_in<std::string>(config, "output_mode", where, "concat");
  for (const auto& [name, feature] : features->items()) {
    const Json& options = config_in(feature);
    const auto layer = field_in<LayerPtr>(options, "preprocessor", where, nullptr);
    check(layer != nullptr, ErrorKind::data, where, "the feature \"", name,
          "\" has no preprocessor - expected a layer - check the text.");
    parts.columns.push_back({name, field_in<std::string>(options, "dtype", where, "float32"),
                             field_in<std::string>(options, "output_mode", where, "one_hot"), layer});
  }
  if (crosses != config.end() && crosses->is_array())
    for (const Json& cross : *crosses) {
      const Json& options = config_in(cross);
      parts.crosses.push_back({field_in<std::vector<std::string>>(options, "feature_names", where, {}),
                               field_in<std::int64_t>(options, "crossing_dim", where, 32),
                               field_in<std::string>(options, "output_mode", where, "one_hot")});
    }
  return detail::feature_space_maker(parts);
}

}  // namespace etude
