#include "etude/layers/adaptive_pooling.hpp"

#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

AdaptivePooling::AdaptivePooling(const ClassEntry& entry, const AdaptivePoolingOptions& options, std::size_t rank,
                                 Kind kind)
    : Layer(entry, options),
      rank_(rank),
      kind_(kind),
      channels_first_(is_channels_first(options.data_format, where())),
      output_size_(spatial::numbers("output_size", options.output_size, rank, where())) {
  cast_integers();
  set_supports_masking(false);
}

Value AdaptivePooling::call(Value x, bool) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  Value y = ops::upcast(spatial::channels_last(x, channels_first_));
  for (std::size_t i = 0; i < rank_; ++i)
    y = pooled(y, static_cast<std::ptrdiff_t>(i + 1), output_size_[i + 3 - rank_]);
  return ops::cast(spatial::restore_order(y, channels_first_), x.dtype());
}

/// One axis: windows are independent along each.
Value AdaptivePooling::pooled(Value x, std::ptrdiff_t axis, std::int64_t count) const {
  constexpr std::int64_t most = 65536;  // each window is an op of its own
  const std::int64_t entries = x.shape()[axis];
  const auto reduced = [&](Value windows, std::ptrdiff_t along, bool keepdims) {
    return kind_ == Kind::max ? ops::max(windows, {along}, keepdims) : ops::mean(windows, {along}, keepdims);
  };
  const bool divides = entries > 0 && entries % count == 0;
  check(entries > 0 && (divides || count <= most), ErrorKind::shape, where(), entries,
        " entries for output_size = ", count, " - expected at least one entry, and a divisor of them or at most ", most,
        " - set output_size.");
  if (divides) return reduced(spatial::split_axis(x, axis, {count, entries / count}), axis + 1, false);
  std::vector<Value> windows;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * entries / count, last = ((i + 1) * entries + count - 1) / count;
    windows.push_back(reduced(ops::slice(x, axis, first, last - first), axis, true));
  }
  return ops::concatenate(windows, axis);
}

AdaptiveAveragePooling1D::AdaptiveAveragePooling1D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveAveragePooling1D>, options, 1, Kind::average) {}
AdaptiveAveragePooling2D::AdaptiveAveragePooling2D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveAveragePooling2D>, options, 2, Kind::average) {}
AdaptiveAveragePooling3D::AdaptiveAveragePooling3D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveAveragePooling3D>, options, 3, Kind::average) {}
AdaptiveMaxPooling1D::AdaptiveMaxPooling1D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveMaxPooling1D>, options, 1, Kind::max) {}
AdaptiveMaxPooling2D::AdaptiveMaxPooling2D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveMaxPooling2D>, options, 2, Kind::max) {}
AdaptiveMaxPooling3D::AdaptiveMaxPooling3D(const AdaptivePoolingOptions& options)
    : AdaptivePooling(class_entry<AdaptiveMaxPooling3D>, options, 3, Kind::max) {}

}  // namespace etude
