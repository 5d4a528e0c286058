#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "etude/base/tensor.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

/// Writes a file of NumPy (.npy) piece by piece; how many rows it has need not be known before. It gets its name when
/// it is whole: until then, and after a loss of power too, others see under that name what was there before. Source:
/// numpy/lib/format.py, version 1.0.
///
///     NpyWriter file("predictions.npy");
///     for (const Tensor& rows : batches) file.append(rows);
///     file.commit();
class NpyWriter {
 public:
  /// The file will be at `path` in host().files. Throws Error(io) where there are no files, or its folder is not there.
  explicit NpyWriter(std::string path);
  /// Without a commit, nothing is left of what was written.
  ~NpyWriter();
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;

  /// Adds `rows`, [rows, …]. Throws Error(shape) for a scalar, and where rows are not of the first ones' shape and
  /// dtype; Error(state) after commit(); Error(io).
  void append(const Tensor& rows);
  /// All rows are there: the file takes its name. Throws Error(data) if there was none at all, Error(state) if it was
  /// called before, Error(io).
  void commit();

 private:
  void check_unfinished() const;
  std::string header() const;

  const std::shared_ptr<Vfs> files_;
  const std::string path_, unfinished_;
  std::unique_ptr<FileSink> file_;
  Shape shape_;  // of all rows so far
  DType dtype_ = DType::float32;
  bool begun_ = false, whole_ = false;
};

}  // namespace etude
