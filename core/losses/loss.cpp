#include "etude/losses/loss.hpp"

#include "etude/base/catalogue.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude {

Reduction reduction_from_name(std::string_view name) {
  static const Catalogue<Reduction> catalogue("reduction",
                                              {{"sum_over_batch_size", Reduction::sum_over_batch_size},
                                               {"sum", Reduction::sum},
                                               {"mean", Reduction::mean},
                                               {"mean_with_sample_weight", Reduction::mean_with_sample_weight},
                                               {"none", Reduction::none}});
  return catalogue.find(name);
}

Value match_rank(Value y_true, Value y_pred) {
  const Shape &t = y_true.shape(), &p = y_pred.shape();
  if (t.rank() + 1 == p.rank() && p.rank() > 0 && p[-1] == 1) return ops::expand_dims(y_true, -1);
  if (t.rank() == p.rank() + 1 && t[-1] == 1) return ops::squeeze(y_true, -1);
  return y_true;
}

namespace {

/// A weight or mask of leading axes, in the shape of the values it weighs.
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

}  // namespace

Value Loss::operator()(Value y_true, Value y_pred, Value sample_weight) {
  y_true = match_rank(y_true, y_pred);
  Value losses = call(y_true, y_pred);
  Value mask;
  if (y_pred.mask()) mask = fit_weight(y_pred.mask(), losses, "mask");
  if (const Value own = own_mask(y_true)) {
    const Value fitted = fit_weight(own, losses, "mask");
    mask = mask ? mask * fitted : fitted;
  }
  Value weight;
  if (sample_weight) weight = fit_weight(sample_weight, losses, "sample_weight");
  // A masked entry counts nowhere: the divisor is the number of valid ones, and if there is none the loss is 0.
  if (mask) losses = ops::where(ops::less(ops::scalar(0, mask), mask), losses, ops::scalar(0, losses));
  if (weight) losses = losses * weight;
  const auto count = [&] {
    return mask ? ops::sum(mask) : ops::scalar(static_cast<double>(losses.shape().size()), losses);
  };
  switch (reduction_) {
    case Reduction::none: return losses;
    case Reduction::sum: return ops::sum(losses);
    case Reduction::mean_with_sample_weight:
      if (weight) return ops::divide_no_nan(ops::sum(losses), ops::sum(mask ? weight * mask : weight));
      [[fallthrough]];
    case Reduction::sum_over_batch_size:
    case Reduction::mean: break;
  }
  return mask ? ops::divide_no_nan(ops::sum(losses), count()) : ops::sum(losses) / count();
}

namespace losses {
namespace {

constexpr double epsilon = 1e-7;

/// The Value that a softmax or sigmoid was applied to, if y_pred is the result of one.
template <class O> Value logits_of(Value y_pred) {
  return std::holds_alternative<O>(y_pred.op()) ? Value(y_pred.graph(), y_pred.graph().node(y_pred.id()).inputs[0])
                                                : Value{};
}

void check_smoothing(const std::string& name, double smoothing) {
  check(smoothing >= 0 && smoothing <= 1, ErrorKind::value, name, "label_smoothing = ", smoothing,
        " - expected a number from 0 to 1 - set label_smoothing.");
}

Value as_prediction_dtype(Value y_true, Value y_pred) { return ops::cast(y_true, y_pred.dtype()); }

void check_shapes(const char* where, Value y_true, Value y_pred) {
  check(y_true.shape() == y_pred.shape(), ErrorKind::shape, where, "y_true of shape ", y_true.shape(),
        " and y_pred of shape ", y_pred.shape(),
        " - expected equal shapes - check the targets and the last layer's units.");
}

class MeanSquaredError : public Loss {
 public:
  explicit MeanSquaredError(const MeanSquaredErrorOptions& o) : Loss(o.name, reduction_from_name(o.reduction)) {}
  Value call(Value y_true, Value y_pred) override {
    check_shapes("MeanSquaredError", y_true, y_pred);
    return ops::mean(ops::square(as_prediction_dtype(y_true, y_pred) - y_pred), {-1});
  }
};

class BinaryCrossentropy : public Loss {
 public:
  explicit BinaryCrossentropy(const BinaryCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {
    check_smoothing(o.name, o.label_smoothing);
  }
  Value call(Value y_true, Value y_pred) override {
    check_shapes("BinaryCrossentropy", y_true, y_pred);
    Value t = as_prediction_dtype(y_true, y_pred);
    if (const double s = options_.label_smoothing; s > 0) t = t * (1 - s) + 0.5 * s;
    if (options_.from_logits) return ops::mean(ops::sigmoid_crossentropy(y_pred, t), {-1});
    if (fuse_logits)
      if (const Value logits = logits_of<op::Sigmoid>(y_pred))
        return ops::mean(ops::sigmoid_crossentropy(logits, t), {-1});
    const Value p = ops::clip(y_pred, epsilon, 1 - epsilon);
    return ops::mean(-(t * ops::log(p) + (1 - t) * ops::log(1 - p)), {-1});
  }

 private:
  BinaryCrossentropyOptions options_;
};

class CategoricalCrossentropy : public Loss {
 public:
  explicit CategoricalCrossentropy(const CategoricalCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {
    check_smoothing(o.name, o.label_smoothing);
  }
  Value call(Value y_true, Value y_pred) override {
    check_shapes("CategoricalCrossentropy", y_true, y_pred);
    Value t = as_prediction_dtype(y_true, y_pred);
    if (const double s = options_.label_smoothing; s > 0) t = t * (1 - s) + s / static_cast<double>(t.shape()[-1]);
    if (options_.from_logits) return ops::softmax_crossentropy(y_pred, t);
    if (fuse_logits)
      if (const Value logits = logits_of<op::Softmax>(y_pred)) return ops::softmax_crossentropy(logits, t);
    const Value p = ops::clip(y_pred / ops::sum(y_pred, {-1}, true), epsilon, 1 - epsilon);
    return -ops::sum(t * ops::log(p), {-1});
  }

 private:
  CategoricalCrossentropyOptions options_;
};

class SparseCategoricalCrossentropy : public Loss {
 public:
  explicit SparseCategoricalCrossentropy(const SparseCategoricalCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {}

  Value call(Value y_true, Value y_pred) override {
    const Value labels = this->labels(y_true, y_pred);
    if (options_.from_logits) return ops::sparse_softmax_crossentropy(y_pred, labels);
    if (fuse_logits)
      if (const Value logits = logits_of<op::Softmax>(y_pred)) return ops::sparse_softmax_crossentropy(logits, labels);
    return ops::sparse_softmax_crossentropy(ops::log(ops::clip(y_pred, epsilon, 1 - epsilon)), labels);
  }

  Value own_mask(Value y_true) const override {
    if (!options_.ignore_class) return {};
    Value t = y_true;
    if (t.shape().rank() > 1 && t.shape()[-1] == 1) t = ops::squeeze(t, -1);
    return ops::logical_not(ops::equal(t, ops::scalar(static_cast<double>(*options_.ignore_class), t)));
  }

 private:
  Value labels(Value y_true, Value y_pred) const {
    const Shape expected = y_pred.shape().without(-1);
    Value t = y_true;
    if (t.shape() != expected && t.shape().rank() == expected.rank() + 1 && t.shape()[-1] == 1) t = ops::squeeze(t, -1);
    check(t.shape() == expected, ErrorKind::shape, "SparseCategoricalCrossentropy", "y_true of shape ", y_true.shape(),
          " and y_pred of shape ", y_pred.shape(), " - expected integer targets of shape ", expected,
          " - use categorical_crossentropy for one-hot targets.");
    t = ops::cast(t, DType::int32);
    if (!options_.ignore_class) return t;
    // An ignored id may be no class at all; any valid one will do, for its loss is masked.
    return ops::where(own_mask(t), t, ops::scalar(0, t));
  }

  SparseCategoricalCrossentropyOptions options_;
};

class FunctionLoss : public Loss {
 public:
  FunctionLoss(std::function<Value(Value, Value)> function, std::string name)
      : Loss(std::move(name), Reduction::sum_over_batch_size), function_(std::move(function)) {}
  Value call(Value y_true, Value y_pred) override { return function_(y_true, y_pred); }

 private:
  std::function<Value(Value, Value)> function_;
};

}  // namespace

LossPtr mean_squared_error(MeanSquaredErrorOptions o) {
  return described("MeanSquaredError", o, std::make_shared<MeanSquaredError>(o));
}
LossPtr binary_crossentropy(BinaryCrossentropyOptions o) {
  return described("BinaryCrossentropy", o, std::make_shared<BinaryCrossentropy>(o));
}
LossPtr categorical_crossentropy(CategoricalCrossentropyOptions o) {
  return described("CategoricalCrossentropy", o, std::make_shared<CategoricalCrossentropy>(o));
}
LossPtr sparse_categorical_crossentropy(SparseCategoricalCrossentropyOptions o) {
  return described("SparseCategoricalCrossentropy", o, std::make_shared<SparseCategoricalCrossentropy>(o));
}
LossPtr from_function(std::function<Value(Value, Value)> function, std::string name) {
  return std::make_shared<FunctionLoss>(std::move(function), std::move(name));
}

LossPtr get(const Choice<Loss>& choice) {
  static const Catalogue<LossPtr (*)()> catalogue(
      "loss", {
                  {"mean_squared_error", [] { return mean_squared_error(); }},
                  {"mse", [] { return mean_squared_error(); }},
                  {"binary_crossentropy", [] { return binary_crossentropy(); }},
                  {"categorical_crossentropy", [] { return categorical_crossentropy(); }},
                  {"sparse_categorical_crossentropy", [] { return sparse_categorical_crossentropy(); }},
              });
  return choice.object() ? choice.object() : catalogue.find(choice.name())();
}

}  // namespace losses
}  // namespace etude
