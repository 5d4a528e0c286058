#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "etude/base/tensor.hpp"
#include "etude/classes/field.hpp"

/// Functions that prepare data before a model reads it.
namespace etude::utils {

/// Class numbers [..] or [.., 1] as one-hot rows [.., num_classes], float32. Without num_classes it is the largest
/// number + 1. Throws Error(value) for numbers that are not whole, and for those out of range; Error(data) for an empty
/// tensor without num_classes. Source: keras/src/utils/numerical_utils.py.
Tensor to_categorical(const Tensor& x, std::optional<std::int64_t> num_classes = {});

/// Options of normalize.
struct NormalizeOptions {
  /// The axis of each vector.
  std::ptrdiff_t axis = -1;
  /// The order p of the norm: 1, 2, infinity, or any positive number.
  double order = 2;

  template <class O = NormalizeOptions> static constexpr auto fields() {
    return option_rows(option<&O::axis>("Axis along which each vector is divided by its norm."),
                       option<&O::order>("Order of the norm: 1, 2, infinity, or any positive number."));
  }
};

/// Each vector along an axis of x divided by its norm; vectors of zeros stay zeros. Integers become float32. Throws
/// Error(shape) for an axis that does not exist, Error(value) for an order of 0 or less. Source:
/// keras/src/utils/numerical_utils.py.
Tensor normalize(const Tensor& x, const NormalizeOptions& options = {});

}  // namespace etude::utils
