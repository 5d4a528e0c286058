#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/saving/safetensors.hpp"

namespace etude {

/// Tensors that are saved together: "model" is the file model.safetensors.
struct TensorGroup {
  /// The name of the file, without its suffix.
  std::string name;
  /// The content of a checkpoint.
  std::vector<NamedTensor> tensors;
};

/// A JSON text: "state" is the file state.json.
struct Document {
  /// The name of the file, without its suffix, and its text.
  std::string name, json;
};

/// The complete state of a run after a step.
struct Checkpoint {
  /// The step after which it was saved.
  std::int64_t step = 0;
  /// The tensors, in groups.
  std::vector<TensorGroup> tensors;
  /// The texts.
  std::vector<Document> documents = {};
  /// The id of the run.
  std::string run_id = {};
  /// The value by which the best checkpoints are chosen.
  std::optional<double> score = {};

  /// The group of that name; throws Error(data) when there is none.
  const std::vector<NamedTensor>& group(std::string_view name) const;
  /// The document of that name; throws Error(data) when there is none.
  const std::string& document(std::string_view name) const;
};

}  // namespace etude
