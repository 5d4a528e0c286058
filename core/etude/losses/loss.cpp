#include "etude/losses/loss.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "etude/base/detail/canonical_name.hpp"
#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Reduction reduction_from_name(std::string_view name) {
  static constexpr std::pair<const char*, Reduction> all[] = {
      {"sum_over_batch_size", Reduction::sum_over_batch_size},
      {"sum", Reduction::sum},
      {"mean", Reduction::mean},
      {"mean_with_sample_weight", Reduction::mean_with_sample_weight},
      {"none", Reduction::none}};
  const std::string wanted = canonical_name(name);
  std::string known;
  for (const auto& [each, reduction] : all) {
    if (canonical_name(each) == wanted) return reduction;
    known.append(known.empty() ? "" : ", ").append(each);
  }
  fail(ErrorKind::value, "reduction", '"', name, "\" - expected one of: ", known,
       " - choose one of them, or pass an object.");
}

Value match_rank(Value y_true, Value y_pred) {
  const Shape &t = y_true.shape(), &p = y_pred.shape();
  if (t.rank() + 1 == p.rank() && p.rank() > 0 && p[-1] == 1) return ops::expand_dims(y_true, -1);
  if (t.rank() == p.rank() + 1 && t[-1] == 1) return ops::squeeze(y_true, -1);
  return y_true;
}

namespace {

/// A weight or mask of leading axes, in the shape of the weighted values.
Value fit_weight(Value weight, Value values, const char* what) {
  const Shape& target = values.shape();
  Value w = weight;
  if (w.shape().rank() == target.rank() + 1 && w.shape()[-1] == 1) w = ops::squeeze(w, -1);
  Shape shape = w.shape();
  check(shape.rank() <= target.rank() && shape == target.slice(0, shape.rank()), ErrorKind::shape, "Loss", what,
        " of shape ", weight.shape(), " for losses of shape ", target,
        " - expected the leading axes of the losses - check the ", what, '.');
  while (shape.rank() < target.rank()) shape.append(1);
  return ops::cast(ops::broadcast_to(ops::reshape(w, shape), target), values.dtype());
}

/// The loss of a whole batch, if entries have weights or a mask: each entry has that loss.
Value of_each(Value loss, Value mask, Value weight) {
  const auto rank = [](Value x) { return x ? x.shape().rank() : 0; };
  const Value like = rank(weight) > rank(mask) ? weight : mask;
  return rank(like) ? ops::broadcast_to(loss, like.shape()) : loss;
}

/// The number of losses in the whole batch. Each replica has a part of those that are equal on all replicas and have no
/// rows. The loss of an empty batch is 0, as in Keras 2.
double count_of(Value losses) {
  const Graph& graph = losses.graph();
  const Shape& shape = losses.shape();
  const std::int64_t count =
      graph.varies(losses.id()) ? graph.shard().whole_size(shape) : shape.size() * graph.shard().replicas;
  return static_cast<double>(std::max<std::int64_t>(count, 1));
}

}  // namespace

Value Loss::operator()(Value y_true, Value y_pred, Value sample_weight) {
  y_pred = dtype_ ? ops::cast(y_pred, *dtype_) : ops::upcast(y_pred);
  if (dtype_ && is_floating(y_true.dtype())) y_true = ops::cast(y_true, *dtype_);
  y_true = match_rank(y_true, y_pred);
  Value losses = call(y_true, y_pred);
  const Value given = applies_mask() ? Value{} : y_pred.mask();
  if (losses.shape().rank() == 0) losses = of_each(losses, given, sample_weight);
  Value mask;
  if (given) mask = fit_weight(given, losses, "mask");
  if (const Value own = own_mask(y_true, losses)) {
    const Value fitted = fit_weight(own, losses, "mask");
    mask = mask ? mask * fitted : fitted;
  }
  Value weight;
  if (sample_weight) weight = fit_weight(sample_weight, losses, "sample_weight");
  // Masked entries are excluded everywhere: the divisor is the number of valid entries of the whole batch (each replica
  // computes its part of the loss), and the loss is 0 if there are none.
  if (mask) losses = ops::where(ops::less(ops::scalar(0, mask), mask), losses, ops::scalar(0, losses));
  if (weight) losses = losses * weight;
  const auto count = [&] { return mask ? ops::all_reduce(ops::sum(mask)) : ops::scalar(count_of(losses), losses); };
  switch (reduction_) {
    case Reduction::none: return losses;
    case Reduction::sum: return ops::sum(losses);
    case Reduction::mean_with_sample_weight:
      if (weight) return ops::divide_no_nan(ops::sum(losses), ops::all_reduce(ops::sum(mask ? weight * mask : weight)));
      [[fallthrough]];
    case Reduction::sum_over_batch_size:
    case Reduction::mean: break;
  }
  return mask ? ops::divide_no_nan(ops::sum(losses), count()) : ops::sum(losses) / count();
}

namespace losses {
namespace {

class FunctionLoss : public Loss {
 public:
  FunctionLoss(std::function<Value(Value, Value)> function, std::string name)
      : Loss(std::move(name), Reduction::sum_over_batch_size), function_(std::move(function)) {}
  Value call(Value y_true, Value y_pred) override { return function_(y_true, y_pred); }

 private:
  std::function<Value(Value, Value)> function_;
};

}  // namespace

LossPtr from_function(std::function<Value(Value, Value)> function, std::string name) {
  return std::make_shared<FunctionLoss>(std::move(function), std::move(name));
}

}  // namespace losses
}  // namespace etude
