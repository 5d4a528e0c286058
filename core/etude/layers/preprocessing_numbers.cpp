#include "etude/layers/preprocessing_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "etude/base/backend.hpp"
#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/layers/detail/categories.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Normalization::Normalization(NormalizationOptions options)
    : PreprocessingLayer(class_entry<Normalization>, std::move(options)),
      options_(described_options<NormalizationOptions>()) {
  check(options_.mean.all().size() == options_.variance.all().size(), ErrorKind::value, where(),
        options_.mean.all().size(), " means and ", options_.variance.all().size(),
        " variances - expected as many of both - set mean and variance, or neither.");
  cast_integers();
}

std::vector<std::ptrdiff_t> Normalization::kept_axes(const Shape& input_shape) const {
  std::vector<std::ptrdiff_t> axes;
  for (const std::int64_t given : options_.axis.all()) {
    const auto axis = static_cast<std::ptrdiff_t>(input_shape.axis(static_cast<std::ptrdiff_t>(given), where()));
    check(axis > 0, ErrorKind::shape, where(), "axis = ", options_.axis, " for input of shape ", input_shape,
          " - expected an axis behind that of the batch - set axis, or none for one mean of all numbers.");
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  }
  heap_sort(axes);
  return axes;
}

Shape Normalization::kept_extents(const Shape& input_shape) const {
  Shape extents;
  for (const std::ptrdiff_t axis : kept_axes(input_shape)) extents.append(input_shape[axis]);
  return extents;
}

void Normalization::build(const Shape& input_shape) {
  const Shape extents = kept_extents(input_shape);
  const std::vector<double>& means = options_.mean.all();
  if (means.empty()) {
    mean_ = add_weight({"mean", extents, "zeros", false});
    variance_ = add_weight({"variance", extents, "ones", false});
    return;
  }
  // The numbers are for the last of the axes.
  std::int64_t numbers = 1;
  bool fits = means.size() == 1;
  for (std::size_t i = extents.rank(); i-- > 0;) {
    numbers *= extents.begin()[i];
    fits |= std::ssize(means) == numbers;
  }
  check(fits, ErrorKind::value, where(), means.size(), " means for axes of extents ", extents,
        " - expected one, or one for each entry of the axes - set mean and variance.");
  const auto add = [&](const char* name, const std::vector<double>& values) {
    std::vector<double> repeated(static_cast<std::size_t>(extents.size()));
    for (std::size_t i = 0; i < repeated.size(); ++i) repeated[i] = values[i % values.size()];
    Variable state = add_state(name, extents, variable_dtype());
    state.assign(Tensor::from<double>(extents, repeated));
    return state;
  };
  mean_ = add("mean", means);
  variance_ = add("variance", options_.variance.all());
}

Value Normalization::call(Value x, bool) {
  Shape along = x.shape();
  const std::vector<std::ptrdiff_t> axes = kept_axes(along);
  check(kept_extents(along) == mean_.shape(), ErrorKind::shape, where(), "input of shape ", along,
        " - expected extents ", mean_.shape(), " along axis = ", options_.axis,
        ", for which it was built - build a new layer or check the data.");
  for (std::size_t axis = 0; axis < along.rank(); ++axis)
    if (std::ranges::find(axes, static_cast<std::ptrdiff_t>(axis)) == axes.end())
      along[static_cast<std::ptrdiff_t>(axis)] = 1;
  const auto value_along = [&](const Variable& variable) {
    return ops::reshape(Graph::current().read(variable), along);
  };
  const Value wide = ops::upcast(x), mean = value_along(mean_), variance = value_along(variance_);
  const Value deviation = ops::maximum(ops::sqrt(variance), ops::scalar(epsilon(), variance));
  return ops::cast(options_.invert ? mean + wide * deviation : (wide - mean) / deviation, x.dtype());
}

bool Normalization::adapted() const {
  const auto differs = [](const Variable& variable, double initial) {
    if (!variable || variable.replicas() == 0) return false;
    const Tensor value = variable.value();
    for (std::int64_t i = 0; i < value.size(); ++i)
      if (value.at(i) != initial) return true;
    return false;
  };
  return !adapts() || rows_ > 0 || differs(mean_, 0) || differs(variance_, 1);
}

void Normalization::reset_state() {
  check(options_.mean.empty(), ErrorKind::state, where(),
        "adapted although mean and variance are set - expected a layer without them - leave them out.");
  rows_ = 0;
  means_.clear();
  variances_.clear();
}

/// Combines the moments of all batches so far with those of another one.
void Normalization::update_state(const Tensor& batch) {
  const Shape& shape = batch.shape();
  const std::vector<std::ptrdiff_t> axes = kept_axes(shape);
  if (!built()) {
    build(shape);
    set_built();
  }
  check(kept_extents(shape) == mean_.shape(), ErrorKind::shape, where(), "data of shape ", shape,
        " - expected extents ", mean_.shape(), " along axis = ", options_.axis,
        ", for which it was built - check the data.");
  const auto kept = static_cast<std::size_t>(mean_.size());
  const double rows = static_cast<double>(shape.size()) / static_cast<double>(std::max<std::size_t>(kept, 1));
  if (rows == 0) return;
  // The place of each element among the means: strides of the kept axes, and 0 for others.
  std::vector<std::int64_t> strides(shape.rank(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = axes.size(); i-- > 0; stride *= shape[axes[i]])
    strides[static_cast<std::size_t>(axes[i])] = stride;
  const auto for_each = [&](const auto& visit) {
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      std::int64_t left = i, place = 0;
      for (std::size_t axis = shape.rank(); axis-- > 0; left /= shape.begin()[axis])
        place += left % shape.begin()[axis] * strides[axis];
      visit(static_cast<std::size_t>(place), batch.at(i));
    }
  };
  std::vector<double> mean(kept), variance(kept);
  for_each([&](std::size_t place, double number) { mean[place] += number / rows; });
  for_each([&](std::size_t place, double number) {
    variance[place] += (number - mean[place]) * (number - mean[place]) / rows;
  });
  means_.resize(kept);
  variances_.resize(kept);
  rows_ += rows;
  const double now = rows / rows_, before = 1 - now;
  for (std::size_t i = 0; i < kept; ++i) {
    const double both = means_[i] * before + mean[i] * now;
    variances_[i] = (variances_[i] + (means_[i] - both) * (means_[i] - both)) * before +
                    (variance[i] + (mean[i] - both) * (mean[i] - both)) * now;
    means_[i] = both;
  }
}

void Normalization::finalize_state() {
  check(rows_ > 0, ErrorKind::data, where(), "adapted to no data - expected at least one row - check the data.");
  mean_.assign(Tensor::from<double>(mean_.shape(), means_));
  variance_.assign(Tensor::from<double>(variance_.shape(), variances_));
}

namespace {

bool is_nan(double number) { return std::isnan(number); }
/// The order of sorted numbers: NaN comes last.
bool precedes(double a, double b) { return a < b || (is_nan(b) && !is_nan(a)); }

}  // namespace

Discretization::Discretization(DiscretizationOptions options)
    : PreprocessingLayer(class_entry<Discretization>, std::move(options)),
      options_(described_options<DiscretizationOptions>()) {
  const std::vector<double>& given = options_.bin_boundaries.all();
  check(given.empty() != !options_.num_bins, ErrorKind::value, where(),
        given.empty() ? "neither bin_boundaries nor num_bins" : "both bin_boundaries and num_bins",
        " - expected one of them - set bin_boundaries, or set num_bins and adapt the layer.");
  check(std::ranges::none_of(given, is_nan) && std::ranges::is_sorted(given), ErrorKind::value, where(),
        "bin_boundaries that are not in ascending order - expected them to be - sort them.");
  const std::int64_t bins = options_.num_bins.value_or(1);
  check(bins > 0 && bins < std::int64_t{1} << 31, ErrorKind::value, where(), "num_bins = ", bins,
        " - expected 1 or more, and less than 2^31 - set num_bins.");
  check(options_.epsilon > 0 && options_.epsilon < 1, ErrorKind::value, where(), "epsilon = ", options_.epsilon,
        " - expected a fraction - set epsilon.");
  static_cast<void>(categories::output_mode_of(options_.output_mode, true, where()));
  categories::check_dense(options_.sparse, where());
  if (options_.num_bins) {
    boundaries_ = add_weight(
        {"bin_boundaries", {bins - 1}, initializers::constant({std::numeric_limits<double>::quiet_NaN()}), false});
  } else {
    boundaries_ = add_state("bin_boundaries", {std::ssize(given)}, variable_dtype());
    boundaries_.assign(Tensor::from<double>({std::ssize(given)}, given));
  }
  cast_integers();
  keep_input_dtype();
}

bool Discretization::adapted() const {
  return !options_.num_bins || boundaries_.size() == 0 ||
         (boundaries_.replicas() > 0 && !is_nan(boundaries_.value().at(0)));
}

Value Discretization::call(Value x, bool) {
  check(boundaries_.replicas() == 0 || adapted(), ErrorKind::state, where(),
        "called before adapt() - expected boundaries - adapt the layer to data, or set bin_boundaries.");
  const categories::OutputMode mode = categories::output_mode_of(options_.output_mode, true, where());
  const Value numbers = categories::count_up_to(Graph::current().read(boundaries_), x);
  return categories::encoded(numbers, boundaries_.size() + 1, mode, compute_dtype());
}

void Discretization::reset_state() {
  check(options_.num_bins.has_value(), ErrorKind::state, where(),
        "adapted although bin_boundaries are set - expected num_bins - set num_bins instead.");
  summary_.clear();
}

/// Points at equal quantiles, from the cumulative weights of all points, by linear interpolation.
std::vector<Discretization::Point> Discretization::compressed(const std::vector<Point>& points, double epsilon) {
  if (static_cast<double>(points.size()) * epsilon < 1) return points;
  std::vector<double> sums;
  double sum = 0;
  for (const Point& point : points) sums.push_back(sum += point.weight);
  std::vector<Point> result;
  double before = 0;
  const auto count = static_cast<std::int64_t>(std::ceil(1 / epsilon));
  for (std::int64_t i = 0; i < count; ++i) {
    const double wanted = (epsilon + static_cast<double>(i) * epsilon) * sum;
    const auto next = static_cast<std::size_t>(std::ranges::lower_bound(sums, wanted) - sums.begin());
    const std::size_t last = std::min(next, points.size() - 1), previous = next == 0 || next > last ? last : next - 1;
    const double range = sums[last] - sums[previous];
    const double share = next == 0 ? 1 : range > 0 ? std::min((wanted - sums[previous]) / range, 1.0) : 1;
    const std::size_t from = next == 0 ? 0 : previous, to = next == 0 ? 0 : last;
    const double number = points[from].number + (points[to].number - points[from].number) * share;
    const double cumulated = sums[from] + (sums[to] - sums[from]) * share;
    result.push_back({number, cumulated - before});
    before = cumulated;
  }
  return result;
}

void Discretization::update_state(const Tensor& batch) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < batch.size(); ++i) numbers.push_back(batch.at(i));
  std::ranges::sort(numbers, precedes);
  const double step = std::max(static_cast<double>(numbers.size()) * options_.epsilon, 1.0);
  for (auto i = static_cast<std::size_t>(step - 1); i < numbers.size(); i += static_cast<std::size_t>(step))
    summary_.push_back({numbers[i], step});
  std::ranges::stable_sort(summary_, precedes, &Point::number);
  summary_ = compressed(summary_, options_.epsilon);
}

void Discretization::finalize_state() {
  check(!summary_.empty(), ErrorKind::data, where(), "adapted to no data - expected at least one number - check it.");
  const std::vector<Point> points = compressed(summary_, 1 / static_cast<double>(*options_.num_bins));
  // With fewer numbers than bins, the last bins have no numbers but NaN. Boundaries that are NaN are not yet adapted.
  std::vector<double> boundaries(static_cast<std::size_t>(*options_.num_bins - 1),
                                 std::numeric_limits<double>::infinity());
  for (std::size_t i = 0; i < boundaries.size() && i + 1 < points.size(); ++i)
    if (!is_nan(points[i].number)) boundaries[i] = points[i].number;
  boundaries_.assign(Tensor::from<double>({std::ssize(boundaries)}, boundaries));
}

CategoryEncoding::CategoryEncoding(CategoryEncodingOptions options)
    : Layer(class_entry<CategoryEncoding>, std::move(options)), options_(described_options<CategoryEncodingOptions>()) {
  check(options_.num_tokens > 0 && options_.num_tokens < std::int64_t{1} << 31, ErrorKind::value, where(),
        "num_tokens = ", options_.num_tokens, " - expected 1 or more, and less than 2^31 - set num_tokens.");
  static_cast<void>(categories::output_mode_of(options_.output_mode, false, where()));
  categories::check_dense(options_.sparse, where());
  keep_input_dtype();
}

Value CategoryEncoding::call(Value x, bool training) { return call_with({x}, training); }

Outputs CategoryEncoding::call_with(const std::vector<Value>& inputs, bool) {
  const categories::OutputMode mode = categories::output_mode_of(options_.output_mode, false, where());
  const bool has_weights = inputs.size() == 2;
  check(inputs.size() == 1 || (has_weights && mode == categories::OutputMode::count), ErrorKind::value, where(),
        "called on ", inputs.size(), " inputs with output_mode = \"", options_.output_mode,
        "\" - expected numbers, and weights only of counts - pass the numbers alone.");
  const Value x = inputs.front();
  if (has_weights)
    check(inputs[1].shape() == x.shape(), ErrorKind::shape, where(), "weights of shape ", inputs[1].shape(),
          " for numbers of shape ", x.shape(), " - expected the same shape - check the data.");
  x.graph().expect(
      {x.id(), options_.num_tokens, where(), "category", "categories", "check the data, or allow more categories"});
  const Value weights = has_weights ? ops::upcast(ops::cast(inputs[1], compute_dtype())) : Value{};
  return categories::encoded(ops::cast(x, DType::int32), options_.num_tokens, mode, compute_dtype(), weights);
}

}  // namespace etude
