/// The parts of a FeatureSpace, of which it is read and written.
#include <memory>

#include "etude/layers/feature_space.hpp"

namespace etude {
namespace {

FeatureSpaceOptions options_of(const FeatureParts& parts) {
  FeatureSpaceOptions options{.output_mode = parts.output_mode, .crosses = parts.crosses};
  for (const FeatureParts::Column& column : parts.columns)
    options.features[column.name] = {.output_mode = column.output_mode, .preprocessor = column.layer};
  return options;
}

/// The entry point of the WebAssembly module's part that has the class; bindings/parts.mjs lists it.
std::shared_ptr<FeatureSpace> make_space(const FeatureParts& parts) { return std::make_shared<FeatureSpace>(parts); }

}  // namespace

FeatureSpace::FeatureSpace(const FeatureParts& parts) : FeatureSpace(options_of(parts)) {
  for (const FeatureParts::Column& column : parts.columns) dtypes_[column.name] = column.dtype;
}

FeatureParts FeatureSpace::parts() const {
  FeatureParts parts{.output_mode = concatenates_ ? "concat" : "dict"};
  for (const auto& [name, layer] : preprocessors_)
    parts.columns.push_back({name, dtypes_.at(name), output_modes_.at(name), layer});
  for (const auto& [name, features] : crossed_)
    parts.crosses.push_back({features, cross_bins_.at(name), output_modes_.at(name)});
  return parts;
}

// Not constant, so that no compiler replaces the address by a call.
decltype(&make_space) detail::feature_space_maker = make_space;

}  // namespace etude
