#include "etude/losses/ctc.hpp"

#include "etude/base/error.hpp"
#include "etude/losses/detail/comparison.hpp"
#include "etude/ops/detail/scan.hpp"
#include "etude/ops/elementwise.hpp"
#include "etude/ops/matmul.hpp"
#include "etude/ops/nn.hpp"
#include "etude/ops/reduction.hpp"
#include "etude/ops/shape.hpp"

namespace etude::losses {
namespace {

/// The logarithm of a probability that counts as 0.
constexpr double impossible = -1e5;

/// log(exp(a) + exp(b)).
Value log_add(Value a, Value b) {
  const Value larger = ops::stop_gradient(ops::maximum(a, b));
  return larger + ops::log(ops::exp(a - larger) + ops::exp(b - larger));
}

/// `blank` [batch, labels + 1], whose entries after the first are also reached by `from` [batch, labels].
Value reached(Value blank, Value from) {
  const std::int64_t labels = from.shape()[1];
  return ops::concatenate({ops::slice(blank, 1, 0, 1), log_add(ops::slice(blank, 1, 1, labels), from)}, 1);
}

/// The columns of x [batch, n] without the last, or without the first.
Value but_last(Value x) { return ops::slice(x, 1, 0, x.shape()[1] - 1); }
Value but_first(Value x) { return ops::slice(x, 1, 1, x.shape()[1] - 1); }

class CTCLoss : public Loss {
 public:
  using Loss::Loss;

  Value call(Value y_true, Value y_pred) override {
    const Shape &t = y_true.shape(), p = y_pred.shape();
    check(p.rank() == 3 && t.rank() == 2 && t[0] == p[0] && t[1] > 0, ErrorKind::shape, "CTC", "y_true of shape ", t,
          " and y_pred of shape ", p,
          " - expected integer labels [batch, labels] and logits [batch, steps, classes] - check the targets and the "
          "last layer.");
    y_true.graph().expect(
        {y_true.id(), p[2], "CTC", "label", "classes", "check the labels, or increase the last layer's units", {}, -1});
    const Value labels = ops::cast(y_true, DType::int32);
    const Value paths = last_blank(labels, ops::log_softmax(y_pred), y_pred.mask());
    // The path ends after the last label.
    const Value count = ops::sum(ops::cast(ops::logical_not(is_blank(labels)), DType::int32), {-1});
    return -ops::sum(paths * ops::one_hot(count, t[1] + 1, paths.dtype()), {-1});
  }
  bool applies_mask() const override { return true; }

 private:
  static Value is_blank(Value labels) { return ops::equal(labels, ops::scalar(0, labels)); }

  /// The logarithms of the probabilities [batch, labels + 1] of the paths that have passed 0, 1, … labels.
  static Value last_blank(Value labels, Value logs, Value mask) {
    const Shape &t = labels.shape(), p = logs.shape();
    const DType dtype = logs.dtype();
    // Between equal labels a path needs a blank.
    const Value equal = ops::cast(ops::equal(but_last(labels), but_first(labels)), dtype);
    const Value repeats = ops::concatenate({equal, ops::zeros({t[0], 1}, dtype)}, 1);
    const Value emitted = ops::matmul(logs, ops::one_hot(labels, p[2], dtype), false, true);
    std::vector<Value> steps{ops::transpose(emitted, {1, 0, 2}), ops::transpose(ops::slice(logs, 2, 0, 1), {1, 0, 2})};
    if (mask) steps.push_back(ops::transpose(ops::reshape(mask, {p[0], p[1], 1}), {1, 0, 2}));
    const Value start = ops::concatenate({ops::zeros({t[0], 1}, dtype), ops::full(t, impossible, dtype)}, 1);
    const Value emit = ops::full(t, impossible, dtype);
    const ops::ScanFunction step = [&](std::span<const Value> before, std::span<const Value> now) {
      const Value &at_blank = before[0], &at_label = before[1];
      const Value ready = reached(at_blank, at_label + repeats * impossible);
      Value label = log_add(but_last(ready), at_label) + now[0];
      Value blank = reached(ready + now[1], at_label + now[1] + (1 - repeats) * impossible);
      if (now.size() > 2) {
        blank = ops::where(now[2], blank, at_blank);
        label = ops::where(now[2], label, at_label);
      }
      return ops::ScanStep{{blank, label}, {}};
    };
    const ops::ScanResult end = ops::scan(step, {start, emit}, steps);
    return reached(end.carry[0], end.carry[1]);
  }
};

}  // namespace

LossPtr CTC::make(const LossOptions& options) {
  return std::make_shared<CTCLoss>(named(options, "ctc").name, reduction_from_name(options.reduction));
}

}  // namespace etude::losses
