#include "etude/layers/pooling.hpp"

#include <algorithm>

#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/pooling.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

/// The sums of an axis's windows of `extent` entries, one at every `stride` of x: sums of 1, 2, 4, .. entries, of which
/// each window adds those that its extent is made of.
Value window_sums(Value x, std::ptrdiff_t axis, std::int64_t extent, std::int64_t stride, std::int64_t count) {
  if (stride == extent) {
    const Value windows = ops::slice(x, axis, 0, count * extent);
    return ops::sum(spatial::split_axis(windows, axis, {count, extent}), {axis + 1});
  }
  Value power = x, sums;
  std::int64_t summed = 0;
  const std::int64_t all = (count - 1) * stride + 1;  // windows that begin at every entry
  for (std::int64_t size = 1; size <= extent; size *= 2) {
    if (extent & size) {
      const Value piece = ops::slice(power, axis, summed, all);
      sums = sums ? sums + piece : piece;
      summed += size;
    }
    if (2 * size > extent) break;
    const std::int64_t left = power.shape()[axis] - size;
    power = ops::slice(power, axis, 0, left) + ops::slice(power, axis, size, left);
  }
  return spatial::strided(sums, axis, 0, stride, count);
}

}  // namespace

PoolingLayer::PoolingLayer(const ClassEntry& entry, PoolingOptions options, std::size_t rank, Kind kind)
    : Layer(entry, std::move(options)), rank_(rank), kind_(kind) {
  set_supports_masking(false);
  const auto& o = described_options<PoolingOptions>();
  window_.extent = spatial::numbers("pool_size", o.pool_size, rank, where());
  window_.strides = o.strides.empty() ? window_.extent : spatial::numbers("strides", o.strides, rank, where());
  padding_ = o.padding;
  spatial::check_padding(padding_, where());
  channels_first_ = is_channels_first(o.data_format, where());
  cast_integers();
}

Value PoolingLayer::call(Value x, bool) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  x = spatial::channels_last(x, channels_first_);
  const spatial::VolumeWindow window = spatial::over(window_, padding_, x.shape(), rank_, where());
  return spatial::restore_order(kind_ == Kind::max ? max(x, window) : average(x, window), channels_first_);
}

/// The maximum in height and width, and of these in depth: it is the same element, also among equals.
Value PoolingLayer::max(Value x, const spatial::VolumeWindow& window) const {
  Value y = spatial::from_planes(ops::max_pool(spatial::to_planes(x, rank_), window.plane()), rank_, x.shape());
  if (window.leaves(0)) return y;
  const Shape shape = y.shape();
  y = ops::max_pool(ops::reshape(y, {shape[0], shape[1], shape[2] * shape[3], shape[4]}), window.depth());
  return ops::reshape(y, {shape[0], y.shape()[1], shape[2], shape[3], shape[4]});
}

Value PoolingLayer::average(Value x, const spatial::VolumeWindow& window) const {
  Value sums = ops::upcast(x), counts;
  double cells = 1;
  for (std::size_t i = 0; i < rank_; ++i) {
    const std::size_t at = i + 3 - rank_;
    const auto axis = static_cast<std::ptrdiff_t>(i + 1);
    const std::int64_t in = x.shape()[axis], count = window.outputs(at, in), stride = window.strides[at];
    // Padding that lies outside of x for every window is left out.
    const std::int64_t before = window.before[at], ends = window.extent[at] - before;
    const std::int64_t unread = std::max<std::int64_t>(0, std::min(before - (count - 1) * stride, ends - in));
    const std::int64_t extent = window.extent[at] - 2 * unread;
    const auto add = [&](Value entries) {
      const Value padded =
          spatial::pad(entries, axis, before - unread, std::max<std::int64_t>(0, window.after[at] - unread));
      return window_sums(padded, axis, extent, stride, count);
    };
    sums = add(sums);
    if (window.before[at] == 0 && window.after[at] == 0) {
      cells *= static_cast<double>(extent);
      continue;
    }
    Shape ones(x.shape());
    for (std::ptrdiff_t other = 0; other < static_cast<std::ptrdiff_t>(ones.rank()); ++other) ones[other] = 1;
    ones[axis] = in;
    const Value own = add(ops::ones(ones, sums.dtype()));
    counts = counts ? counts * own : own;
  }
  return ops::cast(counts ? sums / (counts * cells) : sums * (1 / cells), x.dtype());
}

MaxPooling1D::MaxPooling1D(PoolingOptions options)
    : PoolingLayer(class_entry<MaxPooling1D>, std::move(options), 1, Kind::max) {}
MaxPooling2D::MaxPooling2D(PoolingOptions options)
    : PoolingLayer(class_entry<MaxPooling2D>, std::move(options), 2, Kind::max) {}
MaxPooling3D::MaxPooling3D(PoolingOptions options)
    : PoolingLayer(class_entry<MaxPooling3D>, std::move(options), 3, Kind::max) {}
AveragePooling1D::AveragePooling1D(PoolingOptions options)
    : PoolingLayer(class_entry<AveragePooling1D>, std::move(options), 1, Kind::average) {}
AveragePooling2D::AveragePooling2D(PoolingOptions options)
    : PoolingLayer(class_entry<AveragePooling2D>, std::move(options), 2, Kind::average) {}
AveragePooling3D::AveragePooling3D(PoolingOptions options)
    : PoolingLayer(class_entry<AveragePooling3D>, std::move(options), 3, Kind::average) {}

}  // namespace etude
