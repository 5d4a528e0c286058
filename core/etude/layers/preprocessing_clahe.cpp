#include "etude/layers/preprocessing_clahe.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "etude/base/error.hpp"
#include "etude/layers/detail/image_ops.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/gather.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

namespace {

constexpr std::int64_t bins = 256;

Value whole(Value number) { return ops::cast(number, DType::int32); }
Value times(Value number, std::int64_t factor) { return number * static_cast<double>(factor); }

/// The tiles along an axis of images: their number, their extent, and the coordinates of all their pixels.
struct Axis {
  std::int64_t tiles, extent;
  Value places;
};
Axis axis_of(Value images, std::ptrdiff_t axis, std::int64_t tiles) {
  const std::int64_t extent = (images.shape()[axis] + tiles - 1) / tiles;
  return {tiles, extent, image_ops::arange(tiles * extent, axis, images)};
}

/// The two tiles whose centers are next to each of the first `count` pixels, and the share of the second one.
struct Neighbors {
  Value first, second, share;
};
Neighbors neighbors_of(const Axis& axis, std::ptrdiff_t at, std::int64_t count, DType dtype) {
  const auto extent = static_cast<double>(axis.extent), most = static_cast<double>(axis.tiles - 1);
  const Value position = (ops::slice(axis.places, at, 0, count) - extent / 2) / extent, first = ops::floor(position);
  return {ops::clip(first, 0, most), ops::clip(first + 1, 0, most), ops::cast(position - first, dtype)};
}

/// The histograms of all channels of all tiles.
struct Grid {
  Axis y, x;
  Value image, channel;  // their numbers, along their axes

  std::int64_t histograms() const { return image.shape().size() * y.tiles * x.tiles * channel.shape().size(); }
  /// The entry of a bin, in the histogram of the tile in that row and column.
  Value entry_of(Value row, Value column, Value bin) const {
    const Value tile = times(times(image, y.tiles) + whole(row), x.tiles) + whole(column);
    return times(times(tile, channel.shape().size()) + channel, bins) + whole(bin);
  }
  /// How often each bin of images occurs in each tile, which they are reflected to fill: [histograms, bins].
  Value counts_of(Value images) const {
    const auto reflected = [](const Axis& axis, std::int64_t count) {
      return image_ops::inside(axis.places, count, image_ops::Sampling::Fill::reflect);
    };
    const auto tile_of = [](const Axis& axis) { return ops::floor(axis.places / static_cast<double>(axis.extent)); };
    const Value all = image_ops::pixels_at(images, reflected(y, images.shape()[1]), reflected(x, images.shape()[2]));
    const Value counts = ops::scatter_add(ops::ones(all.shape(), images.dtype()), entry_of(tile_of(y), tile_of(x), all),
                                          histograms() * bins);
    return ops::reshape(counts, {histograms(), bins});
  }
};

/// The new value of each bin of tiles of so many pixels.
Value table_of(Value counts, double pixels, double clip_limit) {
  if (clip_limit > 0) {
    const Value clipped = ops::clip(counts, 0, clip_limit * pixels / bins);
    counts = clipped + ops::sum(counts - clipped, {1}, true) / bins;
  }
  const Value sums = ops::cumsum(counts, 1), least = ops::slice(sums, 1, 0, 1), others = pixels - least;
  const Value divisor = ops::where(ops::equal(others, ops::scalar(0, others)), ops::scalar(1, others), others);
  return ops::clip((sums - least) * 255 / divisor, 0, 255);
}

}  // namespace

ContrastLimitedAdaptiveHistogramEqualization::ContrastLimitedAdaptiveHistogramEqualization(
    ContrastLimitedAdaptiveHistogramEqualizationOptions options)
    : ImageLayer(class_entry<ContrastLimitedAdaptiveHistogramEqualization>, options),
      options_(described_options<ContrastLimitedAdaptiveHistogramEqualizationOptions>()) {
  static_cast<void>(image_ops::value_range_of(options_.value_range, where()));
  const std::vector<std::int64_t>& grid = options_.tile_grid_size.all();
  check((grid.size() == 1 || grid.size() == 2) &&
            std::ranges::all_of(grid, [](std::int64_t tiles) { return tiles > 0 && tiles <= 1024; }),
        ErrorKind::value, where(), "tile_grid_size = ", options_.tile_grid_size,
        " - expected one or two numbers from 1 to 1024 - set tile_grid_size.");
}

Value ContrastLimitedAdaptiveHistogramEqualization::transform(Value images, bool) {
  const Shape& shape = images.shape();
  if (shape.size() == 0) return images;
  const image_ops::Range range = image_ops::value_range_of(options_.value_range, where());
  const bool floats = is_floating(images.dtype());
  const Value x =
      image_ops::scaled(floats ? images : ops::upcast(ops::cast(images, compute_dtype())), range, image_ops::bytes);
  const Value bin = ops::floor(ops::clip(x, 0, 255));
  const std::vector<std::int64_t>& sizes = options_.tile_grid_size.all();
  const Grid grid{axis_of(x, 1, sizes.front()), axis_of(x, 2, sizes.back()), whole(image_ops::arange(shape[0], 0, x)),
                  whole(image_ops::arange(shape[3], 3, x))};
  const auto pixels = static_cast<double>(grid.y.extent * grid.x.extent);
  const Value table =
      ops::reshape(table_of(grid.counts_of(bin), pixels, options_.clip_limit), {grid.histograms() * bins});
  const Neighbors rows = neighbors_of(grid.y, 1, shape[1], x.dtype());
  const Neighbors columns = neighbors_of(grid.x, 2, shape[2], x.dtype());
  const auto along = [&](Value row) {
    const Value left = ops::take(table, grid.entry_of(row, columns.first, bin));
    return left + (ops::take(table, grid.entry_of(row, columns.second, bin)) - left) * columns.share;
  };
  const Value above = along(rows.first), equalized = above + (along(rows.second) - above) * rows.share;
  const Value result = image_ops::scaled(equalized, image_ops::bytes, range);
  return floats ? result : ops::cast(result, images.dtype());
}

}  // namespace etude
