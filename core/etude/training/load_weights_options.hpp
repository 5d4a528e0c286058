#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "etude/base/vfs.hpp"
#include "etude/classes/field.hpp"

namespace etude {

/// A function that gets the number of bytes of a model's weights that were read, and the number of bytes to read: twice
/// the size of the weights if all are checked before the first is set. For a folder of Model::save it is called after
/// the files were checked.
using LoadProgress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// A rule by which load_weights renames the tensors of a file.
struct Renaming {
  /// A regular expression of ECMAScript.
  std::string pattern;
  /// The text in place of each match; $1 is what the first group matched.
  std::string replacement;
};

/// Options of Model::load_weights, for files of other libraries.
struct LoadWeightsOptions {
  /// Rules that turn names of tensors into those of the model's weights, applied one after the other:
  ///
  ///     {.map = {{"^encoder\\.layer\\.(\\d+)\\.", "block_$1/"}, {"weight$", "kernel"}, {"position_ids", ""}}}
  ///
  /// A tensor whose name becomes empty is not loaded.
  std::vector<Renaming> map = {};
  /// A regular expression for names in the file: these tensors are kernels of PyTorch, [outputs, inputs, …], and become
  /// kernels of Keras, […, inputs, outputs]. None if empty.
  std::string transpose = {};
  /// Whether weights keep their values for which the file has no tensor of the same name and shape. A warning names
  /// them.
  bool skip_mismatch = false;
  /// For .h5 files of Keras 2: whether layers get the weights of the layer of the same name, and others keep theirs.
  /// Otherwise they get those at the same place.
  bool by_name = false;
  /// The files that hold the weights; host().files if null.
  std::shared_ptr<Vfs> files = {};
  /// Is called after each weight.
  LoadProgress progress = {};

  template <class O = LoadWeightsOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::map>(
            "Rules that turn names of tensors in the file into those of the model's weights, one after the other: each "
            "a regular expression, and the text in place of each match. A tensor whose name becomes empty is not "
            "loaded."),
        option<&O::transpose>(
            "Regular expression for names in the file: kernels of PyTorch, [outputs, inputs, …], which become kernels "
            "of Keras, […, inputs, outputs]."),
        option<&O::skip_mismatch>("Whether weights without a tensor of the same name and shape keep their values."),
        option<&O::by_name>(
            "For .h5 files of Keras 2: whether layers get the weights of the layer of the same name, not place."));
  }
};

}  // namespace etude
