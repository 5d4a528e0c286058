#pragma once

#include <cstdint>

#include "etude/base/shape.hpp"

namespace etude {

/// Layers on this thread are called for the shapes of their results during its lifetime: their trace is discarded, and
/// nothing is computed. So extents may be large samples of those that are not known yet.
class ShapeTrace {
 public:
  /// The purpose of such calls.
  enum class Pass : std::uint8_t {
    none,   ///< The calls are not within a ShapeTrace.
    trial,  ///< The shapes of variables, which get no values, and are discarded.
    first,  ///< The outputs for one sample of each unknown extent.
    again   ///< The outputs for another sample. A layer records extents that differ from those of its last call as -1.
  };
  /// Begins a pass.
  explicit ShapeTrace(Pass pass);
  ~ShapeTrace();
  ShapeTrace(const ShapeTrace&) = delete;
  ShapeTrace& operator=(const ShapeTrace&) = delete;

  /// The pass on this thread.
  static Pass pass();

 private:
  Pass outer_;
};

/// Sets the extents of `shape` that differ from those of `other` to -1.
void forget_differing(Shape& shape, const Shape& other);

}  // namespace etude
