#include <algorithm>
#include <cmath>
#include <vector>

#include "etude/kernels/cpu/cpu.hpp"
#include "etude/kernels/cpu/program_runner.hpp"

namespace etude {

using instruction::ConvolutionShape;
using instruction::Pooling;

namespace {

template <class T> T* at(Addresses addresses, const Operand& operand) {
  return operand.space < 0 ? nullptr
                           : reinterpret_cast<T*>(addresses[static_cast<std::size_t>(operand.space)] + operand.offset);
}

template <class Body> void with_float(DType dtype, Body body) {
#ifdef ETUDE_FLOAT64
  if (dtype == DType::float64) return body(double{});
#endif
  static_cast<void>(dtype);
  body(float{});
}

/// Calls visit(x index, kernel index, y index) for each product.
template <class Visitor> void for_each_product(const ConvolutionShape& s, Visitor visit) {
  const std::int64_t cg = s.channels / s.groups, fg = s.filters / s.groups;
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t oy = 0; oy < s.rows; ++oy)
      for (std::int64_t ox = 0; ox < s.columns; ++ox)
        for (std::int64_t ky = 0; ky < s.window.extent[0]; ++ky)
          for (std::int64_t kx = 0; kx < s.window.extent[1]; ++kx) {
            const std::int64_t iy = oy * s.window.strides[0] - s.window.before[0] + ky * s.window.dilation[0];
            const std::int64_t ix = ox * s.window.strides[1] - s.window.before[1] + kx * s.window.dilation[1];
            if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
            for (std::int64_t c = 0; c < s.channels; ++c)
              for (std::int64_t f = c / cg * fg; f < (c / cg + 1) * fg; ++f)
                visit(((n * s.height + iy) * s.width + ix) * s.channels + c,
                      ((ky * s.window.extent[1] + kx) * cg + c % cg) * s.filters + f,
                      ((n * s.rows + oy) * s.columns + ox) * s.filters + f);
          }
}

template <class T, class I> void max_pool(const Pooling& p, const T* in, T* out, I* index) {
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t oy = 0; oy < p.rows; ++oy)
      for (std::int64_t ox = 0; ox < p.columns; ++ox)
        for (std::int64_t c = 0; c < p.channels; ++c) {
          T best = 0;
          std::int64_t which = -1;
          for (std::int64_t cell = 0; cell < p.window.cells(); ++cell) {
            const std::int64_t iy = oy * p.window.strides[0] - p.window.before[0] + cell / p.window.extent[1];
            const std::int64_t ix = ox * p.window.strides[1] - p.window.before[1] + cell % p.window.extent[1];
            if (iy < 0 || iy >= p.height || ix < 0 || ix >= p.width) continue;
            const T x = in[((n * p.height + iy) * p.width + ix) * p.channels + c];
            if (which < 0 || x > best || (x != x && best == best)) best = x, which = cell;
          }
          const std::int64_t o = ((n * p.rows + oy) * p.columns + ox) * p.channels + c;
          if (out) out[o] = best;
          if (index) index[o] = static_cast<I>(which);
        }
}

/// Calls visit(pooled index, index of the named cell).
template <class I, class Visitor> void for_each_named(const Pooling& p, const I* index, Visitor visit) {
  std::int64_t o = 0;
  for (std::int64_t n = 0; n < p.batch; ++n)
    for (std::int64_t oy = 0; oy < p.rows; ++oy)
      for (std::int64_t ox = 0; ox < p.columns; ++ox)
        for (std::int64_t c = 0; c < p.channels; ++c, ++o) {
          const std::int64_t iy = oy * p.window.strides[0] - p.window.before[0] + index[o] / p.window.extent[1];
          const std::int64_t ix = ox * p.window.strides[1] - p.window.before[1] + index[o] % p.window.extent[1];
          const bool cell =
              index[o] >= 0 && index[o] < p.window.cells() && iy >= 0 && iy < p.height && ix >= 0 && ix < p.width;
          visit(o, cell ? ((n * p.height + iy) * p.width + ix) * p.channels + c : -1);
        }
}

template <class Body> void with_index(const Operand& index, Body body) {
  if (index.dtype == DType::int32) return body(std::int32_t{});
  body(std::uint8_t{});
}

/// dy unpooled.
template <class T> std::vector<T> unpooled(const std::optional<Pooling>& pooling, const T* dy,
                                           const std::uint8_t* index, std::int64_t size) {
  std::vector<T> result(static_cast<std::size_t>(size));
  if (!pooling)
    std::copy_n(dy, size, result.begin());
  else
    for_each_named(*pooling, index, [&](std::int64_t o, std::int64_t cell) {
      if (cell >= 0) result[static_cast<std::size_t>(cell)] += dy[o];
    });
  return result;
}

void finish(const cpu::Kernels& kernels, const std::optional<instruction::Elementwise>& epilogue, Addresses addresses) {
  if (epilogue)
    cpu::run_program(kernels, epilogue->program, epilogue->segments.front(), 0, epilogue->segments.front().size,
                     addresses);
}

}  // namespace

void Cpu::run(const instruction::Convolution& i, Addresses addresses) {
  with_float(i.x.dtype, [&]<class T>(T) {
    const T *x = at<const T>(addresses, i.x), *kernel = at<const T>(addresses, i.kernel);
    std::vector<T> y(static_cast<std::size_t>(i.shape.batch * i.shape.rows * i.shape.columns * i.shape.filters));
    for_each_product(i.shape, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
      y[static_cast<std::size_t>(c)] += x[a] * kernel[b];
    });
    T* out = at<T>(addresses, i.out);
    if (i.pooling)
      max_pool(*i.pooling, y.data(), out, at<std::uint8_t>(addresses, i.index));
    else
      std::copy(y.begin(), y.end(), out);
  });
  finish(kernels_, i.epilogue, addresses);
}

void Cpu::run(const instruction::ConvolutionInput& i, Addresses addresses) {
  with_float(i.dy.dtype, [&]<class T>(T) {
    const T* kernel = at<const T>(addresses, i.kernel);
    T* out = at<T>(addresses, i.out);
    const auto& s = i.shape;
    const std::vector<T> dy =
        unpooled(i.pooling, at<const T>(addresses, i.dy), at<const std::uint8_t>(addresses, i.index),
                 s.batch * s.rows * s.columns * s.filters);
    std::fill_n(out, s.batch * s.height * s.width * s.channels, T(0));
    for_each_product(s, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
      out[a] += dy[static_cast<std::size_t>(c)] * kernel[b];
    });
  });
  finish(kernels_, i.epilogue, addresses);
}

void Cpu::run(const instruction::ConvolutionFilter& i, Addresses addresses) {
  with_float(i.dy.dtype, [&]<class T>(T) {
    const T* x = at<const T>(addresses, i.x);
    T* out = at<T>(addresses, i.out);
    const auto& s = i.shape;
    const std::vector<T> dy =
        unpooled(i.pooling, at<const T>(addresses, i.dy), at<const std::uint8_t>(addresses, i.index),
                 s.batch * s.rows * s.columns * s.filters);
    std::fill_n(out, s.window.cells() * s.channels / s.groups * s.filters, T(0));
    for_each_product(
        s, [&](std::int64_t a, std::int64_t b, std::int64_t c) { out[b] += x[a] * dy[static_cast<std::size_t>(c)]; });
  });
  finish(kernels_, i.epilogue, addresses);
}

void Cpu::run(const instruction::MaxPool& i, Addresses addresses) {
  with_float(i.in.dtype, [&]<class T>(T) {
    with_index(i.index, [&]<class I>(I) {
      max_pool(i.pooling, at<const T>(addresses, i.in), at<T>(addresses, i.out), at<I>(addresses, i.index));
    });
  });
}

void Cpu::run(const instruction::PoolGather& i, Addresses addresses) {
  with_float(i.in.dtype, [&]<class T>(T) {
    with_index(i.index, [&]<class I>(I) {
      const T* in = at<const T>(addresses, i.in);
      T* out = at<T>(addresses, i.out);
      for_each_named(i.pooling, at<const I>(addresses, i.index),
                     [&](std::int64_t o, std::int64_t cell) { out[o] = cell < 0 ? T(0) : in[cell]; });
    });
  });
}

void Cpu::run(const instruction::PoolScatter& i, Addresses addresses) {
  with_float(i.in.dtype, [&]<class T>(T) {
    with_index(i.index, [&]<class I>(I) {
      const T* in = at<const T>(addresses, i.in);
      T* out = at<T>(addresses, i.out);
      std::fill_n(out, i.pooling.batch * i.pooling.height * i.pooling.width * i.pooling.channels, T(0));
      for_each_named(i.pooling, at<const I>(addresses, i.index), [&](std::int64_t o, std::int64_t cell) {
        if (cell >= 0) out[cell] += in[o];
      });
    });
  });
}

}  // namespace etude
