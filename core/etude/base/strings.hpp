#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/shape.hpp"

namespace etude {

/// Strings on the host: texts in UTF-8, row-major, and their shape. Layers of text read them and return a Tensor; there
/// is no dtype of strings.
class Strings {
 public:
  /// No strings: [0].
  Strings() = default;
  /// One string: a scalar.
  Strings(const char* text) : Strings(std::string(text)) {}
  Strings(std::string text) : shape_{}, texts_{std::move(text)} {}
  /// Several strings: [strings].
  Strings(std::initializer_list<const char*> texts) : Strings(std::vector<std::string>(texts.begin(), texts.end())) {}
  Strings(std::vector<std::string> texts) : shape_{static_cast<std::int64_t>(texts.size())}, texts_(std::move(texts)) {}
  /// Strings of any shape. Throws Error(shape) unless `texts` holds exactly shape.size() strings.
  Strings(const Shape& shape, std::vector<std::string> texts);

  /// The extents.
  const Shape& shape() const { return shape_; }
  /// The strings, in row-major order.
  const std::vector<std::string>& texts() const { return texts_; }
  /// The number of strings.
  std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }
  /// The same strings in another shape. Throws Error(shape) unless it has as many elements.
  Strings reshape(const Shape& shape) const { return {shape, texts_}; }
  friend bool operator==(const Strings&, const Strings&) = default;

 private:
  Shape shape_{0};
  std::vector<std::string> texts_;
};

}  // namespace etude
