#include "etude/layers/extents.hpp"

#include <cmath>
#include <limits>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/layers/detail/data_format.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

void ExtentLayer::set_data_format(const std::string& data_format) {
  channels_first_ = is_channels_first(data_format, where());
}

Value ExtentLayer::call(Value x, bool) {
  spatial::check_rank(x.shape(), rank_, channels_first_, where());
  for (std::size_t i = 0; i < rank_; ++i) x = changed(x, static_cast<std::ptrdiff_t>(i + (channels_first_ ? 2 : 1)), i);
  return x;
}

std::array<std::array<std::int64_t, 2>, 3> ExtentLayer::ends(const char* name, const Margins& given) const {
  const std::vector<Integers>& entries = given.entries();
  std::array<std::array<std::int64_t, 2>, 3> result{};
  bool fits = true;
  const auto set = [&](std::size_t axis, std::size_t end, const Integers& entry, std::size_t i) {
    const std::vector<std::int64_t>& numbers = entry.all();
    fits &= i < numbers.size() && numbers[i] >= 0 && numbers[i] <= std::numeric_limits<std::int32_t>::max();
    if (fits) result[axis][end] = numbers[i];
  };
  // The two ends of the only axis.
  const bool of_one_axis = rank_ == 1 && entries.size() == 2;
  fits = of_one_axis || entries.size() == 1 || entries.size() == rank_;
  for (std::size_t axis = 0; fits && axis < rank_; ++axis)
    for (std::size_t end = 0; fits && end < 2; ++end) {
      const Integers& entry = entries[entries.size() == 1 ? 0 : of_one_axis ? end : axis];
      const std::size_t count = entry.all().size();
      fits &= count == 1 || (count == 2 && !of_one_axis);
      set(axis, end, entry, count == 1 ? 0 : end);
    }
  check(fits, ErrorKind::value, where(), name, " = ", given, " - expected numbers of 0 or more: one, one for each of ",
        rank_, rank_ == 1 ? " axis" : " axes", ", or two for each - set ", name, '.');
  return result;
}

Value Cropping::changed(Value x, std::ptrdiff_t axis, std::size_t i) const {
  const std::int64_t in = x.shape()[axis], out = in - ends_[i][0] - ends_[i][1];
  check(out > 0, ErrorKind::shape, where(), "cropping of ", ends_[i][0], " and ", ends_[i][1], " for an axis of ", in,
        " entries - expected one that leaves an entry - set cropping.");
  return ops::slice(x, axis, ends_[i][0], out);
}

Value ZeroPadding::changed(Value x, std::ptrdiff_t axis, std::size_t i) const {
  return spatial::pad(x, axis, ends_[i][0], ends_[i][1]);
}

void UpSampling::set_interpolation(const std::string& interpolation) {
  check(interpolation == "nearest" || interpolation == "bilinear", ErrorKind::value, where(), "interpolation = \"",
        interpolation, "\" - expected \"nearest\" or \"bilinear\" - choose one.");
  bilinear_ = interpolation == "bilinear";
}

Value UpSampling::changed(Value x, std::ptrdiff_t axis, std::size_t i) const {
  const std::int64_t in = x.shape()[axis], times = size_[i + 3 - rank()];
  if (times == 1 || in == 0) return x;
  Shape result = x.shape();
  result[axis] = checked::multiply(in, times, where());
  if (!bilinear_) {
    const Value apart = ops::expand_dims(x, axis + 1);
    Shape shape = apart.shape();
    shape[axis + 1] = times;
    return ops::reshape(ops::broadcast_to(apart, shape), result);
  }
  constexpr std::int64_t most = 4096;  // each row of pixels between two others is an op
  check(times <= most, ErrorKind::value, where(), "size = ", times,
        " with interpolation = \"bilinear\" - expected at most ", most, " - set size, or interpolation = \"nearest\".");
  // The value of a pixel is that at its center. Beyond the outermost centers the values are constant.
  const Value first = ops::slice(x, axis, 0, 1), last = ops::slice(x, axis, in - 1, 1);
  const Value previous = in == 1 ? x : ops::concatenate({first, ops::slice(x, axis, 0, in - 1)}, axis);
  const Value next = in == 1 ? x : ops::concatenate({ops::slice(x, axis, 1, in - 1), last}, axis);
  std::vector<Value> parts;
  for (std::int64_t part = 0; part < times; ++part) {
    const double at = (static_cast<double>(part) + 0.5) / static_cast<double>(times) - 0.5, share = std::abs(at);
    parts.push_back(ops::expand_dims(x * (1 - share) + (at < 0 ? previous : next) * share, axis + 1));
  }
  return ops::reshape(ops::concatenate(parts, axis + 1), result);
}

Cropping1D::Cropping1D(const Options& options) : Cropping(class_entry<Cropping1D>, options, 1) {}
Cropping2D::Cropping2D(const Options& options) : Cropping(class_entry<Cropping2D>, options, 2) {}
Cropping3D::Cropping3D(const Options& options) : Cropping(class_entry<Cropping3D>, options, 3) {}
ZeroPadding1D::ZeroPadding1D(const Options& options) : ZeroPadding(class_entry<ZeroPadding1D>, options, 1) {}
ZeroPadding2D::ZeroPadding2D(const Options& options) : ZeroPadding(class_entry<ZeroPadding2D>, options, 2) {}
ZeroPadding3D::ZeroPadding3D(const Options& options) : ZeroPadding(class_entry<ZeroPadding3D>, options, 3) {}
UpSampling1D::UpSampling1D(const Options& options) : UpSampling(class_entry<UpSampling1D>, options, 1) {}
UpSampling2D::UpSampling2D(const Options& options) : UpSampling(class_entry<UpSampling2D>, options, 2) {}
UpSampling3D::UpSampling3D(const Options& options) : UpSampling(class_entry<UpSampling3D>, options, 3) {}

}  // namespace etude
