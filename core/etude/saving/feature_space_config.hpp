#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "etude/layers/feature_space.hpp"

namespace etude {

/// A FeatureSpace as JSON in Keras's form, with the state to which it has adapted: vocabularies, means, variances and
/// boundaries of bins are options of its layers. Keras reads it by deserialize_keras_object. Throws Error(value) for a
/// layer without a config.
std::string to_json(const FeatureSpace& space, int indent = -1);

/// The FeatureSpace of such a text, of Étude or of Keras. It encodes as the one that was written; one of Keras that has
/// adapted adapts again, except vocabularies and boundaries in the text. Throws Error(data) for other texts, and as
/// from_json<Layer>() for its layers.
std::shared_ptr<FeatureSpace> feature_space_from_json(std::string_view text);

}  // namespace etude
