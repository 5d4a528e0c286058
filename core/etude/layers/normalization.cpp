#include "etude/layers/normalization.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "etude/base/error.hpp"
#include "etude/ops/detail/normalized.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {
namespace {

/// The axis of the weights. Not the batch axis, whose extent changes from batch to batch.
std::ptrdiff_t feature_axis(const Shape& shape, std::int64_t axis, const std::string& where) {
  const std::size_t found = shape.axis(static_cast<std::ptrdiff_t>(axis), where);
  check(found > 0, ErrorKind::shape, where, "axis = ", axis, " for input of shape ", shape,
        " - expected an axis after the batch axis - set axis.");
  return static_cast<std::ptrdiff_t>(found);
}

std::vector<std::ptrdiff_t> axes_in(const Shape& shape, const Integers& axes, const std::string& where) {
  std::vector<std::ptrdiff_t> result;
  for (const std::int64_t axis : axes.all())
    result.push_back(static_cast<std::ptrdiff_t>(shape.axis(static_cast<std::ptrdiff_t>(axis), where)));
  return result;
}

/// Throws Error(value) without axes.
void check_any(const Integers& axes, const std::string& where) {
  check(!axes.empty(), ErrorKind::value, where, "no axis - expected one or more - set axis = -1, for example.");
}

/// `shape` with 1 in place of the axes that are not among `axes`.
Shape along_axes(Shape shape, const std::vector<std::ptrdiff_t>& axes) {
  for (std::ptrdiff_t axis = 0; axis < static_cast<std::ptrdiff_t>(shape.rank()); ++axis)
    if (std::ranges::find(axes, axis) == axes.end()) shape[axis] = 1;
  return shape;
}

Shape extents_of(const Shape& shape, const std::vector<std::ptrdiff_t>& axes) {
  Shape result;
  for (const std::ptrdiff_t axis : axes) result.append(shape[axis]);
  return result;
}

/// A weight with the extents of some axes, in the shape `along` that broadcasts along them.
Value value_along(const Variable& weight, const Shape& along, const Shape& input, const Integers& axes,
                  const std::string& where) {
  check(weight.size() == along.size(), ErrorKind::shape, where, "input of shape ", input, " - expected axes ", axes,
        " of shape ", weight.shape(), ", for which it was built - build a new layer or check the data.");
  return ops::reshape(Graph::current().read(weight), along);
}

/// The square roots of the values of another initializer.
class SquareRoots : public Initializer {
 public:
  explicit SquareRoots(InitializerPtr squares) : squares_(std::move(squares)) {}
  Tensor operator()(const Shape& shape, DType dtype) override {
    Tensor roots = (*squares_)(shape, dtype).astype(DType::float64);
    for (double& root : roots.data<double>()) root = std::sqrt(root);
    return roots.astype(dtype);
  }
  void skip() override { squares_->skip(); }

 private:
  InitializerPtr squares_;
};

}  // namespace

LayerNormalization::LayerNormalization(LayerNormalizationOptions options)
    : Layer(class_entry<LayerNormalization>, std::move(options)),
      options_(described_options<LayerNormalizationOptions>()) {
  check_any(options_.axis, where());
  cast_integers();
}

void LayerNormalization::build(const Shape& input_shape) {
  const Shape shape = extents_of(input_shape, axes_in(input_shape, options_.axis, where()));
  if (options_.scale || options_.rms_scaling)
    gamma_ = add_weight({.name = "gamma",
                         .shape = shape,
                         .initializer = options_.gamma_initializer,
                         .regularizer = options_.gamma_regularizer,
                         .constraint = options_.gamma_constraint});
  if (options_.center && !options_.rms_scaling)
    beta_ = add_weight({.name = "beta",
                        .shape = shape,
                        .initializer = options_.beta_initializer,
                        .regularizer = options_.beta_regularizer,
                        .constraint = options_.beta_constraint});
}

// Sums of squares need more digits than half precision has: both layers normalize in the variables' dtype.

Value LayerNormalization::call(Value x, bool) {
  x = ops::upcast(x);
  const std::vector<std::ptrdiff_t> axes = axes_in(x.shape(), options_.axis, where());
  const Shape along = along_axes(x.shape(), axes);
  const Value centered = x - ops::mean(x, axes, true);
  const Value deviation = ops::sqrt(ops::mean(ops::square(centered), axes, true) + options_.epsilon);
  Value y = (options_.rms_scaling ? x : centered) * (1 / deviation);
  if (gamma_) y = y * value_along(gamma_, along, x.shape(), options_.axis, where());
  if (beta_) y = y + value_along(beta_, along, x.shape(), options_.axis, where());
  return ops::cast(y, compute_dtype());
}

RMSNormalization::RMSNormalization(RMSNormalizationOptions options)
    : Layer(class_entry<RMSNormalization>, std::move(options)), options_(described_options<RMSNormalizationOptions>()) {
  check_any(options_.axis, where());
  cast_integers();
  set_supports_masking(false);
}

void RMSNormalization::build(const Shape& input_shape) {
  std::vector<std::ptrdiff_t> axes;
  for (const std::int64_t axis : options_.axis.all()) axes.push_back(feature_axis(input_shape, axis, where()));
  scale_ = add_weight({.name = "scale", .shape = extents_of(input_shape, axes), .initializer = "ones"});
}

Value RMSNormalization::call(Value x, bool) {
  x = ops::upcast(x);
  const std::vector<std::ptrdiff_t> axes = axes_in(x.shape(), options_.axis, where());
  const Value scale = value_along(scale_, along_axes(x.shape(), axes), x.shape(), options_.axis, where());
  const Value y = x / ops::sqrt(ops::mean(ops::square(x), axes, true) + options_.epsilon);
  return ops::cast(y * scale, compute_dtype());
}

BatchNormalization::BatchNormalization(BatchNormalizationOptions options)
    : Layer(class_entry<BatchNormalization>, std::move(options)),
      options_(described_options<BatchNormalizationOptions>()) {
  check(options_.momentum >= 0 && options_.momentum <= 1, ErrorKind::value, where(), "momentum = ", options_.momentum,
        " - expected a number from 0 to 1 - set momentum.");
  check(options_.renorm_momentum >= 0 && options_.renorm_momentum <= 1, ErrorKind::value, where(),
        "renorm_momentum = ", options_.renorm_momentum, " - expected a number from 0 to 1 - set renorm_momentum.");
  check_clipping();
  cast_integers();
}

void BatchNormalization::check_clipping() const {
  if (!options_.renorm || !options_.renorm_clipping) return;
  const auto& limits = *options_.renorm_clipping;
  const auto limit = [&](const char* name, double otherwise) {
    const auto found = limits.find(name);
    return found == limits.end() ? otherwise : found->second;
  };
  for (const auto& [name, value] : limits)
    check(name == "rmax" || name == "rmin" || name == "dmax", ErrorKind::value, where(), "renorm_clipping of \"", name,
          "\" - expected \"rmax\", \"rmin\" and \"dmax\" - leave it out.");
  const double rmin = limit("rmin", 0), rmax = limit("rmax", std::numeric_limits<double>::infinity()),
               dmax = limit("dmax", 0);
  check(rmin <= rmax && dmax >= 0, ErrorKind::value, where(), "renorm_clipping with rmin = ", rmin, ", rmax = ", rmax,
        ", dmax = ", dmax, " - expected rmin of at most rmax, and dmax of 0 or more - set renorm_clipping.");
}

void BatchNormalization::build(const Shape& input_shape) {
  const auto& o = options_;
  const Shape shape{input_shape[feature_axis(input_shape, o.axis, where())]};
  if (o.scale)
    gamma_ = add_weight({"gamma", shape, o.gamma_initializer, true, o.gamma_regularizer, {}, o.gamma_constraint});
  if (o.center)
    beta_ = add_weight({"beta", shape, o.beta_initializer, true, o.beta_regularizer, {}, o.beta_constraint});
  moving_mean_ = add_weight({"moving_mean", shape, o.moving_mean_initializer, false, {}, Aggregation::mean});
  moving_variance_ =
      add_weight({"moving_variance", shape, o.moving_variance_initializer, false, {}, Aggregation::mean});
  if (!o.renorm) return;
  const InitializerPtr roots = std::make_shared<SquareRoots>(initializers::get(o.moving_variance_initializer));
  moving_stddev_ = add_weight({"moving_stddev", shape, roots, false, {}, Aggregation::mean});
  renorm_mean_ = add_weight({"renorm_mean", shape, o.moving_mean_initializer, false, {}, Aggregation::mean});
  renorm_stddev_ = add_weight({"renorm_stddev", shape, roots, false, {}, Aggregation::mean});
}

/// Of the moments of a batch, in their shape.
BatchNormalization::Correction BatchNormalization::correction(Value mean, Value stddev) const {
  const auto along = [&](const Variable& weight) {
    return ops::reshape(ops::cast(Graph::current().read(weight), mean.dtype()), mean.shape());
  };
  const Value moving = ops::maximum(along(renorm_stddev_), ops::scalar(std::sqrt(options_.epsilon), mean));
  Value r = stddev / moving, d = (mean - along(renorm_mean_)) / moving;
  for (const auto& [name, limit] : options_.renorm_clipping.value_or(std::map<std::string, double>{}))
    if (name == "rmin")
      r = ops::maximum(r, ops::scalar(limit, r));
    else if (name == "rmax")
      r = ops::minimum(r, ops::scalar(limit, r));
    else
      d = ops::clip(d, -limit, limit);
  return {ops::stop_gradient(r), ops::stop_gradient(d)};
}

/// Moves the averages towards the moments of a batch.
void BatchNormalization::follow(Value mean, Value variance) const {
  Graph& graph = Graph::current();
  const auto move = [&](const Variable& moving, Value batch, double momentum) {
    const Value now = ops::cast(ops::reshape(ops::stop_gradient(batch), moving.shape()), moving.dtype());
    graph.assign(moving, graph.read(moving) * momentum + now * (1 - momentum));
  };
  move(moving_mean_, mean, options_.momentum);
  if (!options_.renorm) return move(moving_variance_, variance, options_.momentum);
  const Value stddev = ops::sqrt(variance + options_.epsilon);
  move(renorm_mean_, mean, options_.renorm_momentum);
  move(renorm_stddev_, stddev, options_.renorm_momentum);
  move(moving_stddev_, stddev, options_.momentum);
  graph.assign(moving_variance_, ops::relu(ops::square(graph.read(moving_stddev_)) - options_.epsilon));
}

Value BatchNormalization::call(Value x, bool training) {
  x = ops::upcast(x);
  const auto value_along = [&](const Variable& weight, const Shape& shape) {
    return ops::reshape(Graph::current().read(weight), shape);
  };
  const std::ptrdiff_t axis = feature_axis(x.shape(), options_.axis, where());
  check(x.shape()[axis] == moving_mean_.size(), ErrorKind::shape, where(), "input of shape ", x.shape(),
        " - expected an extent of ", moving_mean_.size(), " along axis ", options_.axis,
        ", for which it was built - build a new layer or check the data.");
  std::vector<std::ptrdiff_t> others;
  Shape along = x.shape();
  for (std::ptrdiff_t other = 0; other < static_cast<std::ptrdiff_t>(along.rank()); ++other)
    if (other != axis) others.push_back(other), along[other] = 1;

  Value mean = value_along(moving_mean_, along), variance = value_along(moving_variance_, along);
  Correction corrected;
  if (training && trainable()) {
    Value weight;
    if (x.mask()) {
      Shape shape = x.mask().shape();
      while (shape.rank() < x.shape().rank()) shape.append(1);
      weight = ops::broadcast_to(ops::reshape(ops::cast(x.mask(), x.dtype()), shape), x.shape());
    }
    const bool synchronized = options_.synchronized;
    const auto sum_of = [&](Value values) {
      const Value sum = ops::sum(values, others, true);
      return synchronized ? ops::all_reduce(sum) : sum;
    };
    const std::int64_t elements = synchronized ? Graph::current().shard().whole_size(x.shape()) : x.shape().size();
    const double count = static_cast<double>(elements) / static_cast<double>(std::max<std::int64_t>(along.size(), 1));
    const auto mean_of = [&](Value values) {
      return weight ? ops::divide_no_nan(sum_of(values * weight), sum_of(weight)) : sum_of(values) / count;
    };
    mean = mean_of(x);
    // Deviations sum to 0, so no gradient flows from the variance to the mean: this saves an all-reduce.
    variance = mean_of(ops::square(x - (synchronized ? ops::stop_gradient(mean) : mean)));
    if (options_.renorm) corrected = correction(mean, ops::sqrt(variance + options_.epsilon));
    follow(mean, variance);
  }
  Value scale = 1 / ops::sqrt(variance + options_.epsilon);
  if (corrected.r) scale = scale * corrected.r;
  if (gamma_) scale = scale * value_along(gamma_, along);
  Value y = (x - mean) * scale;
  if (corrected.d) y = y + (gamma_ ? corrected.d * value_along(gamma_, along) : corrected.d);
  if (beta_) y = y + value_along(beta_, along);
  return ops::cast(y, compute_dtype());
}

GroupNormalization::GroupNormalization(GroupNormalizationOptions options)
    : Layer(class_entry<GroupNormalization>, std::move(options)),
      options_(described_options<GroupNormalizationOptions>()) {
  check(options_.groups > 0 || options_.groups == -1, ErrorKind::value, where(), "groups = ", options_.groups,
        " - expected a positive number, or -1 - set groups.");
  cast_integers();
}

void GroupNormalization::build(const Shape& input_shape) {
  channels_ = input_shape[feature_axis(input_shape, options_.axis, where())];
  const std::int64_t groups = options_.groups == -1 ? channels_ : options_.groups;
  check(channels_ > 0 && channels_ % groups == 0, ErrorKind::value, where(), "groups = ", options_.groups,
        " for input of shape ", input_shape, ", ", channels_, " channels - expected a divisor of them - set groups.");
  if (options_.scale)
    gamma_ = add_weight({.name = "gamma",
                         .shape = {channels_},
                         .initializer = options_.gamma_initializer,
                         .regularizer = options_.gamma_regularizer,
                         .constraint = options_.gamma_constraint});
  if (options_.center)
    beta_ = add_weight({.name = "beta",
                        .shape = {channels_},
                        .initializer = options_.beta_initializer,
                        .regularizer = options_.beta_regularizer,
                        .constraint = options_.beta_constraint});
}

Value GroupNormalization::call(Value x, bool) {
  x = ops::upcast(x);
  const Shape whole = x.shape();
  const std::ptrdiff_t axis = feature_axis(whole, options_.axis, where());
  check(whole[axis] == channels_, ErrorKind::shape, where(), "input of shape ", whole, " - expected ", channels_,
        " channels, for which it was built - build a new layer or check the data.");
  const std::int64_t groups = options_.groups == -1 ? channels_ : options_.groups;
  Shape grouped = whole.slice(0, static_cast<std::size_t>(axis)), along = whole;
  grouped.append(groups);
  grouped.append(channels_ / groups);
  for (auto i = axis + 1; i < static_cast<std::ptrdiff_t>(whole.rank()); ++i) grouped.append(whole[i]);
  std::vector<std::ptrdiff_t> axes;
  for (std::ptrdiff_t i = 1; i < static_cast<std::ptrdiff_t>(grouped.rank()); ++i)
    if (i != axis) axes.push_back(i);
  x = ops::reshape(x, grouped);
  const Value centered = x - ops::mean(x, axes, true);
  const Value y = centered * (1 / ops::sqrt(ops::mean(ops::square(centered), axes, true) + options_.epsilon));
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(along.rank()); ++i)
    if (i != axis) along[i] = 1;
  const auto value_along = [&](const Variable& weight) { return ops::reshape(Graph::current().read(weight), along); };
  Value result = ops::reshape(y, whole);
  if (gamma_) result = result * value_along(gamma_);
  if (beta_) result = result + value_along(beta_);
  return ops::cast(result, compute_dtype());
}

UnitNormalization::UnitNormalization(const UnitNormalizationOptions& options)
    : Layer(class_entry<UnitNormalization>, options) {
  check(!options.axis.empty(), ErrorKind::value, where(), "no axis - expected one or more - choose axis = -1.");
  for (const std::int64_t axis : options.axis.all()) axes_.push_back(static_cast<std::ptrdiff_t>(axis));
  cast_integers();
}

Value UnitNormalization::call(Value x, bool) { return ops::normalized(x, axes_, 1e-12); }

}  // namespace etude
