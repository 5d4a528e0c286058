#include "etude/losses/crossentropy.hpp"

#include "etude/graph/detail/node.hpp"
#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::losses {
namespace {

Value operand_of(Value x) { return {x.graph(), x.graph().node(x.id()).inputs[0]}; }

/// The Value to which a softmax or sigmoid was applied, if y_pred is the result of one, even if it was rounded to half
/// precision and upcast again.
template <class O> Value logits_of(Value y_pred) {
  Value x = y_pred;
  while (std::holds_alternative<op::Cast>(x.op()) && is_floating(operand_of(x).dtype())) x = operand_of(x);
  return std::holds_alternative<O>(x.op()) && x.dtype() == y_pred.dtype() ? operand_of(x) : Value{};
}

class BinaryCrossentropyLoss : public Loss {
 public:
  explicit BinaryCrossentropyLoss(const BinaryCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {
    check_smoothing(o.name, o.label_smoothing);
  }
  Value call(Value y_true, Value y_pred) override {
    Value t = in_shape_of(y_true, y_pred, "BinaryCrossentropy");
    if (const double s = options_.label_smoothing; s > 0) t = t * (1 - s) + 0.5 * s;
    if (options_.from_logits) return ops::mean(ops::sigmoid_crossentropy(y_pred, t), {options_.axis});
    if (fuse_logits)
      if (const Value logits = logits_of<op::Sigmoid>(y_pred))
        return ops::mean(ops::sigmoid_crossentropy(logits, t), {options_.axis});
    const Value p = ops::clip(y_pred, epsilon(), 1 - epsilon());
    return ops::mean(-(t * ops::log(p) + (1 - t) * ops::log(1 - p)), {options_.axis});
  }

 private:
  BinaryCrossentropyOptions options_;
};

class CategoricalCrossentropyLoss : public Loss {
 public:
  explicit CategoricalCrossentropyLoss(const CategoricalCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {
    check_smoothing(o.name, o.label_smoothing);
  }
  Value call(Value y_true, Value given) override {
    const std::ptrdiff_t axis = options_.axis;
    Value t = with_last(in_shape_of(y_true, given, "CategoricalCrossentropy"), axis);
    const Value y_pred = with_last(given, axis);
    if (const double s = options_.label_smoothing; s > 0) t = t * (1 - s) + s / static_cast<double>(t.shape()[-1]);
    if (options_.from_logits) return ops::softmax_crossentropy(y_pred, t);
    if (fuse_logits)
      if (const Value logits = logits_of<op::Softmax>(y_pred)) return ops::softmax_crossentropy(logits, t);
    const Value p = ops::clip(y_pred / ops::sum(y_pred, {-1}, true), epsilon(), 1 - epsilon());
    return -ops::sum(t * ops::log(p), {-1});
  }

 private:
  CategoricalCrossentropyOptions options_;
};

class SparseCategoricalCrossentropyLoss : public Loss {
 public:
  explicit SparseCategoricalCrossentropyLoss(const SparseCategoricalCrossentropyOptions& o)
      : Loss(o.name, reduction_from_name(o.reduction)), options_(o) {}

  Value call(Value y_true, Value given) override {
    const Value y_pred = with_last(given, options_.axis), labels = this->labels(y_true, y_pred.with_mask(given.mask()));
    const auto of_logits = [&](Value logits) {
      return ops::sparse_softmax_crossentropy(logits.with_mask(given.mask()), labels);
    };
    if (options_.from_logits) return of_logits(y_pred);
    if (fuse_logits)
      if (const Value logits = logits_of<op::Softmax>(y_pred)) return of_logits(logits);
    return of_logits(ops::log(ops::clip(y_pred, epsilon(), 1 - epsilon())));
  }

  Value own_mask(Value y_true, Value losses) const override {
    return options_.ignore_class ? is_counted(ops::reshape(y_true, losses.shape())) : Value{};
  }

 private:
  /// Whether a label is not ignore_class.
  Value is_counted(Value labels) const {
    return ops::logical_not(ops::equal(labels, ops::scalar(static_cast<double>(*options_.ignore_class), labels)));
  }
  Value labels(Value y_true, Value y_pred) const {
    const Value t = labels_of("SparseCategoricalCrossentropy", y_true, y_pred, options_.ignore_class);
    if (!options_.ignore_class) return t;
    // An ignored id may not be a class; any valid one suffices, because its loss is masked.
    return ops::where(is_counted(t), t, ops::scalar(0, t));
  }

  SparseCategoricalCrossentropyOptions options_;
};

}  // namespace

LossPtr BinaryCrossentropy::make(const BinaryCrossentropyOptions& o) {
  return std::make_shared<BinaryCrossentropyLoss>(o);
}
LossPtr CategoricalCrossentropy::make(const CategoricalCrossentropyOptions& o) {
  return std::make_shared<CategoricalCrossentropyLoss>(o);
}
LossPtr SparseCategoricalCrossentropy::make(const SparseCategoricalCrossentropyOptions& o) {
  return std::make_shared<SparseCategoricalCrossentropyLoss>(o);
}

}  // namespace etude::losses
