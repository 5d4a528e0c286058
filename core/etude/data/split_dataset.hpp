#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "etude/classes/field.hpp"
#include "etude/data/dataset.hpp"

namespace etude::utils {

/// Options of split_dataset.
struct SplitDatasetOptions {
  /// The elements of the left and of the right part: a fraction below 1, or a number of elements. Default: what the
  /// other one leaves.
  std::optional<double> left_size = {}, right_size = {};
  /// Whether the elements are in a random order, which is the same at each iteration.
  bool shuffle = false;
  /// The seed of the order.
  std::optional<std::int64_t> seed = {};

  template <class O = SplitDatasetOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::left_size>(
            "Size of the left part: a fraction below 1, or a number of elements. Default: what the right one leaves."),
        option<&O::right_size>(
            "Size of the right part: a fraction below 1, or a number of elements. Default: what the left one leaves."),
        option<&O::shuffle>("Whether the elements are in a random order before they are divided."),
        option<&O::seed>("Seed of the order. Default: derived from the global seed."));
  }
};

/// The first elements of a dataset, and the last ones, such as for training and validation. An element is divided from
/// the others as a whole: call it before `batch`. Neither part copies elements. Throws Error(value) for sizes that
/// leave a part empty, and for a dataset of unknown size. Source: keras/src/utils/dataset_utils.py.
std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, const SplitDatasetOptions& options);
/// The same for the rows of arrays.
std::pair<Dataset, Dataset> split_dataset(const Batch& arrays, const SplitDatasetOptions& options);

}  // namespace etude::utils
