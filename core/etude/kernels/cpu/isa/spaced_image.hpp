#pragma once

#include "etude/kernels/cpu/isa/convolution_parts.hpp"

namespace etude::cpu::ETUDE_ISA {

/// The images that a convolution reads: with zeros around them and between their pixels.
template <class T> struct SpacedImage {
  Index height, width, channels;  // with zeros
  Index from_height, from_width, from_channels;
  Index before_y, before_x, spacing_y, spacing_x;
  bool needed;

  Index elements() const { return needed ? height * width * channels : 0; }

  /// Copies `channels` of the image's channels.
  void copy(const T* image, T* to) const {
    for (Index y = 0; y < height; ++y, to += width * channels) {
      const Index row = y - before_y;
      if (row < 0 || row % spacing_y != 0 || row / spacing_y >= from_height)
        zero_elements(to, width * channels);
      else
        copy_row(image + row / spacing_y * from_width * from_channels, to);
    }
  }

 private:
  void copy_row(const T* from, T* to) const {
    const bool dense = spacing_x == 1 && channels == from_channels;
    const Index last = before_x + (from_width - 1) * spacing_x, inside = smaller(last + 1, width);
    const Index begin = smaller(larger(before_x, 0), width);
    zero_elements(to, begin * channels);
    if (inside <= begin) return zero_elements(to + begin * channels, (width - begin) * channels);
    if (dense) {
      copy_elements(from + (begin - before_x) * channels, (inside - begin) * channels, to + begin * channels);
    } else {
      for (Index x = begin; x < inside; ++x) {
        const Index column = x - before_x;
        if (column % spacing_x == 0)
          copy_elements(from + column / spacing_x * from_channels, channels, to + x * channels);
        else
          zero_elements(to + x * channels, channels);
      }
    }
    zero_elements(to + inside * channels, (width - inside) * channels);
  }
};

}  // namespace etude::cpu::ETUDE_ISA
