/// The parts of a FeatureSpace, of which it is read and written.
#include <memory>

#include "etude/layers/feature_space.hpp"

namespace etude {
namespace {

FeatureSpaceOptions options_of(const FeatureParts& parts) {
  FeatureSpaceOptions options{.output_mode = parts.output_mode};
  for (std::size_t i = 0; i < parts.names.size(); ++i)
    options.features[parts.names[i]] = {.output_mode = parts.output_modes.at(i), .preprocessor = parts.layers.at(i)};
  for (std::size_t i = 0; i < parts.crossed.size(); ++i)
    options.crosses.push_back({parts.crossed[i], parts.cross_bins.at(i), parts.cross_modes.at(i)});
  return options;
}

/// The door of the part of the WebAssembly module that has the class; bindings/parts.mjs names it.
std::shared_ptr<FeatureSpace> make_space(const FeatureParts& parts) { return std::make_shared<FeatureSpace>(parts); }

}  // namespace

FeatureSpace::FeatureSpace(const FeatureParts& parts) : FeatureSpace(options_of(parts)) {
  for (std::size_t i = 0; i < parts.names.size(); ++i) dtypes_[parts.names[i]] = parts.dtypes.at(i);
}

FeatureParts FeatureSpace::parts() const {
  FeatureParts parts;
  parts.output_mode = concatenates_ ? "concat" : "dict";
  for (const auto& [name, layer] : preprocessors_) {
    parts.names.push_back(name);
    parts.dtypes.push_back(dtypes_.at(name));
    parts.output_modes.push_back(output_modes_.at(name));
    parts.layers.push_back(layer);
  }
  for (const auto& [name, features] : crossed_) {
    parts.crossed.push_back(features);
    parts.cross_bins.push_back(cross_bins_.at(name));
    parts.cross_modes.push_back(output_modes_.at(name));
  }
  return parts;
}

// Not constant, so that no compiler replaces the address by a call.
decltype(&make_space) detail::feature_space_maker = make_space;

}  // namespace etude
