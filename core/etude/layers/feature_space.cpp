#include "etude/layers/feature_space.hpp"

#include <algorithm>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/layers/core_layers.hpp"
#include "etude/layers/detail/vocabulary.hpp"
#include "etude/layers/hashing.hpp"
#include "etude/layers/merging.hpp"
#include "etude/layers/pointwise.hpp"
#include "etude/layers/preprocessing_lookup.hpp"
#include "etude/layers/preprocessing_numbers.hpp"
#include "etude/layers/string_lookup.hpp"

namespace etude {

namespace {

constexpr const char* where = "FeatureSpace";

/// A type of feature: the layer of a feature of that type, and its default output_mode.
struct FeatureType {
  const char* name;
  const char* output_mode;
  LayerPtr (*preprocessor)(const Feature& feature, std::int64_t bins, const std::string& name);
};

LayerPtr hashing(const Feature&, std::int64_t bins, const std::string& name) {
  return layers::hashing({.num_bins = bins, .name = name});
}

constexpr FeatureType types[] = {
    {"float", "float",
     [](const Feature&, std::int64_t, const std::string& name) -> LayerPtr {
       return layers::identity({.name = name});
     }},
    {"float_normalized", "float",
     [](const Feature&, std::int64_t, const std::string& name) -> LayerPtr {
       return layers::normalization({.name = name});
     }},
    {"float_rescaled", "float",
     [](const Feature& feature, std::int64_t, const std::string& name) -> LayerPtr {
       return layers::rescaling({.scale = feature.scale, .offset = feature.offset, .name = name});
     }},
    {"float_discretized", "one_hot",
     [](const Feature& feature, std::int64_t bins, const std::string& name) -> LayerPtr {
       if (!feature.bin_boundaries.empty())
         return layers::discretization({.bin_boundaries = feature.bin_boundaries, .name = name});
       return layers::discretization({.num_bins = bins, .name = name});
     }},
    {"integer_categorical", "one_hot",
     [](const Feature& feature, std::int64_t, const std::string& name) -> LayerPtr {
       return layers::integer_lookup(
           {.max_tokens = feature.max_tokens, .num_oov_indices = feature.num_oov_indices, .name = name});
     }},
    {"string_categorical", "one_hot",
     [](const Feature& feature, std::int64_t, const std::string& name) -> LayerPtr {
       return layers::string_lookup(
           {.max_tokens = feature.max_tokens, .num_oov_indices = feature.num_oov_indices, .name = name});
     }},
    {"integer_hashed", "one_hot", hashing},
    {"string_hashed", "one_hot", hashing}};

const FeatureType& type_of(const std::string& name, const Feature& feature) {
  const auto* found = std::ranges::find(types, feature.type, &FeatureType::name);
  std::string known;
  for (const FeatureType& type : types) known += (known.empty() ? "\"" : ", \"") + std::string(type.name) + '"';
  check(found != std::end(types), ErrorKind::value, where, "the feature \"", name, "\" has the type \"", feature.type,
        "\" - expected one of ", known, ", or a preprocessor - choose one.");
  return *found;
}

/// The dtype of a column in the words of Keras.
std::string column_dtype(const Feature& feature, const Layer& layer) {
  if (feature.type.starts_with("integer") || dynamic_cast<const IntegerLookup*>(&layer)) return "int32";
  return dynamic_cast<const StringLayer*>(&layer) ? "string" : "float32";
}

/// Layers that adapt to numbers, and those that adapt to strings.
PreprocessingLayer* adapting_to_numbers(const LayerPtr& layer) {
  auto* found = dynamic_cast<PreprocessingLayer*>(layer.get());
  return found && found->adapts() ? found : nullptr;
}
VocabularyLayer* adapting_to_strings(const LayerPtr& layer) {
  auto* found = dynamic_cast<VocabularyLayer*>(layer.get());
  return found && found->adapts() ? found : nullptr;
}

/// Whether a layer needs no adapt(): it has adapted, has loaded weights, or never adapts.
bool has_state(const LayerPtr& layer) {
  if (const auto* strings = adapting_to_strings(layer)) return !strings->get_vocabulary(false).empty();
  const auto* numbers = adapting_to_numbers(layer);
  if (const auto* lookup = dynamic_cast<const IntegerLookup*>(numbers)) return !lookup->get_vocabulary(false).empty();
  if (const auto* bins = dynamic_cast<const Discretization*>(numbers)) return bins->adapted();
  if (const auto* moments = dynamic_cast<const Normalization*>(numbers)) return moments->adapted();
  return !numbers || numbers->built();
}

/// [rows, 1] of a column [rows] or a scalar.
template <class T> T as_rows(const T& column) {
  return column.shape().rank() < 2 ? column.reshape({column.size(), 1}) : column;
}
StringsOrTensor as_rows(const StringsOrTensor& column) {
  return std::visit([](const auto& x) -> StringsOrTensor { return as_rows(x); }, column);
}
const Shape& shape_of(const StringsOrTensor& column) {
  return std::visit([](const auto& x) -> const Shape& { return x.shape(); }, column);
}

/// Whether the columns are those of one row, without an axis of rows.
bool is_one_row(const FeatureColumns& data) {
  return std::ranges::any_of(data, [](const auto& column) { return shape_of(column.second).rank() == 0; });
}

const StringsOrTensor& column_of(const FeatureColumns& data, const std::string& name) {
  const auto found = data.find(name);
  check(found != data.end(), ErrorKind::value, where, "data without the column \"", name,
        "\" - expected the columns of all features - pass it.");
  return found->second;
}

/// The result of a layer for a column.
Tensor preprocessed(const LayerPtr& layer, const StringsOrTensor& column, const std::string& name) {
  if (const auto* strings = dynamic_cast<const StringLayer*>(layer.get())) return strings->compute({column});
  const Tensor* numbers = std::get_if<Tensor>(&column);
  check(numbers, ErrorKind::value, where, "the column \"", name,
        "\" has strings - expected numbers - choose another type of the feature.");
  return (*layer)(*numbers);
}

/// The number of indices or bins that a layer makes; 0: unknown.
std::int64_t categories_of(const Layer& layer) {
  if (const auto* strings = dynamic_cast<const VocabularyLayer*>(&layer)) return strings->vocabulary_size();
  if (const auto* integers = dynamic_cast<const IntegerLookup*>(&layer)) return integers->vocabulary_size();
  if (const auto* numbers = dynamic_cast<const Discretization*>(&layer)) return numbers->num_bins();
  if (const auto* hashed = dynamic_cast<const Hashing*>(&layer)) return hashed->num_bins();
  if (const auto* crossed = dynamic_cast<const HashedCrossing*>(&layer)) return crossed->num_bins();
  return 0;
}

/// Throws Error(value) unless numbers of this dtype, which the layer makes, are indices or bins of a known number.
void check_categories(DType dtype, const Layer& layer, const std::string& name) {
  check(dtype == DType::int32 && categories_of(layer) > 0, ErrorKind::value, where, "the feature \"", name,
        "\" has output_mode = \"one_hot\", but its layer ", layer.class_name(),
        " does not make indices of a known number - expected \"float\" or \"int\" - set output_mode.");
}

/// Throws Error(value) for numbers that are no floats.
void check_floats(DType dtype, const std::string& name) {
  check(is_floating(dtype), ErrorKind::value, where, "the feature \"", name, "\" has numbers of dtype ", dtype,
        " - expected floats to concatenate - set its output_mode to \"one_hot\", or that of the FeatureSpace to "
        "\"dict\".");
}

/// Rows of 0 and 1 of indices or bins.
Tensor one_hot(const Tensor& numbers, const Layer& layer, const std::string& name) {
  check_categories(numbers.dtype(), layer, name);
  std::vector<std::int64_t> indices;
  for (const std::int32_t index : numbers.data<std::int32_t>()) indices.push_back(index);
  return encoded_on_host(indices, numbers.shape(), categories_of(layer), categories::OutputMode::multi_hot, floatx());
}

}  // namespace

FeatureSpace::FeatureSpace(FeatureSpaceOptions options) : concatenates_(options.output_mode == "concat") {
  check(concatenates_ || options.output_mode == "dict", ErrorKind::value, where, "output_mode = \"",
        options.output_mode, "\" - expected \"concat\" or \"dict\" - choose one.");
  check(!options.features.empty(), ErrorKind::value, where,
        "no features - expected a type for each column - set features.");
  for (const auto& [name, feature] : options.features) {
    std::string mode = feature.output_mode;
    if (feature.preprocessor) {
      check(feature.type.empty(), ErrorKind::value, where, "the feature \"", name,
            "\" has a type and a preprocessor - expected one of them - leave one out.");
      preprocessors_[name] = feature.preprocessor;
    } else {
      const FeatureType& type = type_of(name, feature);
      const bool hashed = type.preprocessor == hashing;
      const std::int64_t bins = hashed ? options.hashing_dim : options.num_discretization_bins;
      preprocessors_[name] = type.preprocessor(feature, feature.num_bins.value_or(bins), name + "_preprocessor");
      if (mode.empty()) mode = type.output_mode;
    }
    check(mode == "one_hot" || mode == "int" || mode == "float", ErrorKind::value, where, "the feature \"", name,
          "\" has output_mode = \"", mode, "\" - expected \"one_hot\", \"int\" or \"float\" - choose one.");
    output_modes_[name] = mode;
    dtypes_[name] = column_dtype(feature, *preprocessors_[name]);
  }
  for (const FeatureCross& cross : options.crosses) {
    check(cross.output_mode == "one_hot" || cross.output_mode == "int", ErrorKind::value, where,
          "a cross with output_mode = \"", cross.output_mode, "\" - expected \"one_hot\" or \"int\" - choose one.");
    check(cross.feature_names.size() > 1, ErrorKind::value, where, "a cross of ", cross.feature_names.size(),
          " features - expected two or more - set feature_names.");
    std::string name;
    for (const std::string& feature : cross.feature_names) {
      check(options.features.contains(feature), ErrorKind::value, where, "a cross of \"", feature,
            "\" - expected names of features - set feature_names.");
      name += (name.empty() ? "" : "_X_") + feature;
    }
    check(!options.features.contains(name), ErrorKind::value, where, "a cross of the name \"", name,
          "\", which is that of a feature - expected another one - rename the feature.");
    cross_bins_[name] = cross.crossing_dim.value_or(options.crossing_dim);
    crossers_[name] = layers::hashed_crossing({.num_bins = cross_bins_[name], .name = name});
    crossed_[name] = cross.feature_names;
    output_modes_[name] = cross.output_mode;
  }
  adapted_ = std::ranges::all_of(preprocessors_, [](const auto& each) { return has_state(each.second); });
}

void FeatureSpace::adapt(const FeatureColumns& data) {
  reset_state();
  update_state(data);
  finalize_state();
}

void FeatureSpace::reset_state() {
  adapted_ = false;
  encoded_.reset();
  for (const auto& [name, layer] : preprocessors_) {
    if (auto* numbers = adapting_to_numbers(layer)) numbers->reset_state();
    if (auto* strings = adapting_to_strings(layer)) strings->reset_state();
  }
}

void FeatureSpace::update_state(const FeatureColumns& batch) {
  for (const auto& [name, layer] : preprocessors_) {
    auto* numbers = adapting_to_numbers(layer);
    auto* strings = adapting_to_strings(layer);
    if (!numbers && !strings) continue;
    const StringsOrTensor column = as_rows(column_of(batch, name));
    check(std::holds_alternative<Strings>(column) == (strings != nullptr), ErrorKind::value, where, "the column \"",
          name, strings ? "\" has numbers - expected strings" : "\" has strings - expected numbers",
          " - choose another type of the feature.");
    if (numbers) numbers->update_state(std::get<Tensor>(column));
    if (strings) strings->update_state(std::get<Strings>(column));
  }
}

void FeatureSpace::finalize_state() {
  for (const auto& [name, layer] : preprocessors_) {
    if (auto* numbers = adapting_to_numbers(layer)) numbers->finalize_state();
    if (auto* strings = adapting_to_strings(layer)) strings->finalize_state();
  }
  adapted_ = true;
}

/// An encoded feature or cross.
struct FeatureSpace::Encoding {
  std::string name;
  Tensor tensor;
};

/// The features, then the crosses, both in the order of their names.
std::vector<FeatureSpace::Encoding> FeatureSpace::encodings(const FeatureColumns& data) const {
  check(adapted_, ErrorKind::state, where, "called before adapt() - expected known data - call adapt() first.");
  for (const auto& [name, column] : data) {
    check(preprocessors_.contains(name), ErrorKind::value, where, "the column \"", name,
          "\" is no feature - expected columns of features alone - leave it out.");
    const std::int64_t rows = shape_of(as_rows(column))[0], first = shape_of(as_rows(data.begin()->second))[0];
    check(rows == first, ErrorKind::shape, where, "columns of ", first, " and of ", rows,
          " rows - expected equal lengths - check the data.");
  }
  std::map<std::string, Tensor> features;
  for (const auto& [name, layer] : preprocessors_)
    features[name] = preprocessed(layer, as_rows(column_of(data, name)), name);
  std::vector<Encoding> result;
  const auto add = [&](const std::string& name, const LayerPtr& layer, const Tensor& numbers) {
    const std::string& mode = output_modes_.at(name);
    const bool is_float = mode == "float" && !is_floating(numbers.dtype());
    result.push_back({name, mode == "one_hot" ? one_hot(numbers, *layer, name)
                            : is_float        ? numbers.astype(floatx())
                                              : numbers});
  };
  for (const auto& [name, layer] : preprocessors_) add(name, layer, features.at(name));
  for (const auto& [name, layer] : crossers_) {
    std::vector<StringsOrTensor> inputs;
    for (const std::string& feature : crossed_.at(name)) inputs.emplace_back(features.at(feature));
    add(name, layer, dynamic_cast<const StringLayer&>(*layer).compute(inputs));
  }
  return result;
}

void FeatureSpace::check_concatenates() const {
  check(concatenates_, ErrorKind::state, where,
        "concatenated with output_mode = \"dict\" - expected \"concat\" - call encoded(), or leave output_mode out.");
}

Tensor FeatureSpace::operator()(const FeatureColumns& data) const {
  check_concatenates();
  const std::vector<Encoding> all = encodings(data);
  const std::int64_t rows = all.front().tensor.shape()[0];
  std::int64_t columns = 0;
  for (const auto& [name, tensor] : all) {
    check_floats(tensor.dtype(), name);
    check(tensor.shape().rank() == 2 && tensor.shape()[0] == rows, ErrorKind::shape, where, "the feature \"", name,
          "\" of shape ", tensor.shape(), " - expected [", rows, ", numbers] to concatenate - check the columns.");
    columns += tensor.shape()[1];
  }
  Tensor result({rows, columns}, DType::float32);
  std::int64_t first = 0;
  for (const auto& [name, tensor] : all) {
    const Tensor floats = tensor.astype(DType::float32);
    const std::int64_t count = tensor.shape()[1];
    for (std::int64_t row = 0; row < rows; ++row)
      std::ranges::copy(
          floats.data<float>().subspan(static_cast<std::size_t>(row * count), static_cast<std::size_t>(count)),
          result.data<float>().begin() + static_cast<std::ptrdiff_t>(row * columns + first));
    first += count;
  }
  return is_one_row(data) ? result.reshape({columns}) : result;
}

std::map<std::string, Tensor> FeatureSpace::encoded(const FeatureColumns& data) const {
  std::map<std::string, Tensor> result;
  const bool one_row = is_one_row(data);
  for (const auto& [name, tensor] : encodings(data)) {
    const bool drops = one_row && tensor.shape().rank() == 2 && tensor.shape()[0] == 1;
    result[name] = drops ? tensor.reshape({tensor.shape()[1]}) : tensor;
  }
  return result;
}

std::map<std::string, SymbolicTensor> FeatureSpace::get_inputs() {
  if (inputs_.empty())
    for (const auto& [name, layer] : preprocessors_) {
      check(!dynamic_cast<const StringLayer*>(layer.get()), ErrorKind::value, where, "the feature \"", name,
            "\" is encoded by ", layer->class_name(),
            ", on the host - expected layers of numbers within a model - encode the columns before the model.");
      const char* dtype = dynamic_cast<const IntegerLookup*>(layer.get()) ? "int32" : "";
      inputs_.emplace(name, layers::input({.shape = {1}, .dtype = dtype, .name = name}));
    }
  return inputs_;
}

SymbolicTensor FeatureSpace::get_encoded_features() {
  if (encoded_) return *encoded_;
  check(adapted_, ErrorKind::state, where, "called before adapt() - expected known data - call adapt() first.");
  check_concatenates();
  check(crossers_.empty(), ErrorKind::value, where,
        "crosses within a model - expected features alone, because crosses are encoded on the host - encode the "
        "columns before the model.");
  std::vector<SymbolicTensor> all;
  for (const auto& [name, input] : get_inputs()) {
    const LayerPtr& layer = preprocessors_.at(name);
    SymbolicTensor y = layer->apply(input);
    if (output_modes_.at(name) == "one_hot") {
      check_categories(y.dtype(), *layer, name);
      y = layers::category_encoding({.num_tokens = categories_of(*layer)})->apply(y);
    }
    check_floats(y.dtype(), name);
    all.push_back(y);
  }
  encoded_ = all.size() == 1 ? all.front() : layers::concatenate()->apply(all);
  return *encoded_;
}

}  // namespace etude
