#pragma once

#include <functional>

#include "etude/saving/hdf5/detail/hdf5_object.hpp"

namespace etude::hdf5 {

/// The dataset of an object: its shape, its type, and the places of its bytes, all checked against the file. Throws
/// Error(data) for forms that are not supported: missing data, other files, virtual datasets, other filters and types.
/// `is_bfloat16` is called for opaque elements of two bytes.
Dataset dataset_of(File& file, const ObjectHeader& object, std::string path, const std::function<bool()>& is_bfloat16);

}  // namespace etude::hdf5
