#pragma once

#include <functional>
#include <span>

#include "etude/saving/hdf5/detail/hdf5_file.hpp"
#include "etude/saving/hdf5/detail/hdf5_types.hpp"

namespace etude::hdf5 {

/// Calls `visit` with all elements of a dataset, piece by piece, as the file stores them: the place of the first one,
/// and the bytes. It needs memory for one chunk, before and after its filters.
void visit_elements(const File& file, const Dataset& dataset,
                    const std::function<void(std::uint64_t first, std::span<const std::byte> bytes)>& visit);

/// Copies elements in the byte order of this machine.
void copy_elements(const Dataset& dataset, std::span<const std::byte> bytes, std::byte* out);
/// Converts elements to a dtype. Integers must fit. Throws Error(data) for integers that do not, and for bytes that are
/// neither true nor false.
void convert_elements(const File& file, const Dataset& dataset, std::span<const std::byte> bytes, DType dtype,
                      std::byte* out);
/// Whether elements can become a dtype: floats become floats; other numbers become any, and bool stays bool.
bool converts(Number from, DType to);

}  // namespace etude::hdf5
