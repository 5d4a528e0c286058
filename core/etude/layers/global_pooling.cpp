#include "etude/layers/global_pooling.hpp"

#include "etude/layers/detail/data_format.hpp"
#include "etude/layers/spatial.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

GlobalPooling::GlobalPooling(const ClassEntry& entry, const GlobalPoolingOptions& options, std::size_t rank, Kind kind)
    : Layer(entry, options),
      rank_(rank),
      kind_(kind),
      channels_first_(is_channels_first(options.data_format, where())),
      keepdims_(options.keepdims) {
  cast_integers();
}

Value GlobalPooling::call(Value x, bool) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  std::vector<std::ptrdiff_t> axes;
  for (std::size_t axis = 0; axis < rank_; ++axis)
    axes.push_back(static_cast<std::ptrdiff_t>(axis + (channels_first_ ? 2 : 1)));
  if (kind_ == Kind::max) return ops::max(x, axes, keepdims_);
  if (!x.mask() || rank_ > 1) return ops::mean(x, axes, keepdims_);
  const Value wide = ops::upcast(x);
  const Value counts = ops::expand_dims(ops::cast(x.mask(), wide.dtype()), channels_first_ ? 1 : 2);
  return ops::cast(ops::sum(wide * counts, axes, keepdims_) / ops::sum(counts, axes, keepdims_), x.dtype());
}

GlobalAveragePooling1D::GlobalAveragePooling1D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalAveragePooling1D>, options, 1, Kind::average) {}
GlobalAveragePooling2D::GlobalAveragePooling2D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalAveragePooling2D>, options, 2, Kind::average) {}
GlobalAveragePooling3D::GlobalAveragePooling3D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalAveragePooling3D>, options, 3, Kind::average) {}
GlobalMaxPooling1D::GlobalMaxPooling1D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalMaxPooling1D>, options, 1, Kind::max) {}
GlobalMaxPooling2D::GlobalMaxPooling2D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalMaxPooling2D>, options, 2, Kind::max) {}
GlobalMaxPooling3D::GlobalMaxPooling3D(const GlobalPoolingOptions& options)
    : GlobalPooling(class_entry<GlobalMaxPooling3D>, options, 3, Kind::max) {}

}  // namespace etude
