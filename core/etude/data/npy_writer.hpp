#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "etude/base/tensor.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

/// The bytes of a .npy file before those of the array. Throws Error(dtype) for bfloat16, which NumPy lacks. Source:
/// numpy/lib/format.py, version 1.0.
std::string npy_header(const Shape& shape, DType dtype);

/// Writes a file of NumPy (.npy) piece by piece. The number of rows need not be known in advance. The file gets its
/// name when it is complete: until then, even after a loss of power, other programs see the previous file of that name.
///
///     NpyWriter file("predictions.npy");
///     for (const Tensor& rows : batches) file.append(rows);
///     file.commit();
class NpyWriter {
 public:
  /// Creates a file for `path` in host().files. Throws Error(io) if there are no files, or the folder does not exist.
  explicit NpyWriter(std::string path);
  /// Without commit(), deletes all that was written.
  ~NpyWriter() = default;
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Appends `rows`, [rows, …]. Throws Error(shape) for a scalar, and if rows differ from the first in shape or dtype;
  /// Error(state) after commit(); Error(io).
  void append(const Tensor& rows);
  /// Completes the file and gives it its name. Throws Error(data) if there are no rows, Error(state) if it was called
  /// before, Error(io).
  void commit();

 private:
  void check_unfinished() const;

  const std::shared_ptr<Vfs> files_;
  const std::string path_;
  FileReplacement made_;
  Shape shape_;  // of all rows so far
  DType dtype_ = DType::float32;
  bool begun_ = false, whole_ = false;
};

}  // namespace etude
