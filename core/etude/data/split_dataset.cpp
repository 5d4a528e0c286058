#include "etude/data/split_dataset.hpp"

#include <cmath>

#include "etude/base/error.hpp"
#include "etude/base/random.hpp"

namespace etude::utils {
namespace {

constexpr const char* where = "utils.split_dataset";

/// The elements of a part; a fraction is rounded to even, as Python does.
std::int64_t elements_of(const char* name, double size, std::int64_t total) {
  const bool fits = size > 0 && (size < 1 || (size == std::floor(size) && size < static_cast<double>(total)));
  check(fits, ErrorKind::value, where, name, " = ", size, " of ", total,
        " elements - expected a fraction below 1, or a number of elements that leaves others - set ", name, '.');
  return static_cast<std::int64_t>(size < 1 ? std::nearbyint(size * static_cast<double>(total)) : size);
}

}  // namespace

std::pair<Dataset, Dataset> split_dataset(const Dataset& dataset, const SplitDatasetOptions& options) {
  const std::int64_t total = dataset.cardinality();
  check(total >= 0, ErrorKind::value, where, "a dataset of ", total == Dataset::infinite ? "infinite" : "unknown",
        " size - expected a known number of elements - call take(count) or assert_cardinality(count) before.");
  check(options.left_size || options.right_size, ErrorKind::value, where,
        "neither left_size nor right_size - expected at least one - set left_size, such as 0.8.");
  const std::optional<double>&left = options.left_size, &right = options.right_size;
  const std::int64_t last = right ? elements_of("right_size", *right, total) : 0;
  const std::int64_t first = left ? elements_of("left_size", *left, total) : total - last;
  const std::int64_t others = right ? last : total - first;
  check(first > 0 && others > 0 && first <= total - others, ErrorKind::value, where, first, " and ", others, " of ",
        total, " elements - expected two parts with elements, and none in both - set other sizes.");
  Dataset all = dataset;
  if (options.shuffle) {
    const auto seed = options.seed ? static_cast<std::uint64_t>(*options.seed) : random_seed();
    all = all.shuffle(total, {.seed = seed, .reshuffle_each_iteration = false});
  }
  return {all.take(first), all.skip(total - others)};
}

std::pair<Dataset, Dataset> split_dataset(const Batch& arrays, const SplitDatasetOptions& options) {
  return split_dataset(Dataset::from_tensor_slices(arrays), options);
}

}  // namespace etude::utils
