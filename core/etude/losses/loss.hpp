#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// How the losses of samples become one number.
enum class Reduction : std::uint8_t {
  sum_over_batch_size,  ///< sum / number of elements, weighted or not (R-2)
  sum,
  mean,                     ///< as sum_over_batch_size
  mean_with_sample_weight,  ///< sum / sum of weights
  none
};
/// The reduction of that name. Throws Error(value) listing those that exist.
Reduction reduction_from_name(std::string_view name);

/// A loss, to be minimized. Source: keras/src/losses/loss.py.
class Loss : public Described {
 public:
  using Kind = Loss;
  /// Its options may have a `dtype`.
  static constexpr bool has_dtype = true;
  /// A loss of that name. Its dtype is that of the FloatxScope.
  Loss(std::string name, Reduction reduction)
      : name_(std::move(name)), reduction_(reduction), dtype_(FloatxScope::current()) {}
  virtual ~Loss() = default;
  /// Its name in logs.
  const std::string& name() const { return name_; }
  /// How the values of samples become one.
  Reduction reduction() const { return reduction_; }
  /// The dtype in which it is computed; none: that of the predictions, or float32 for half precision.
  std::optional<DType> dtype() const { return dtype_; }

  /// The loss of each sample: [batch, ..] -> [batch, ..] without the last axis. Or a scalar for the whole batch, which
  /// is multiplied by the reduced sample weights.
  virtual Value call(Value y_true, Value y_pred) = 0;
  /// The reduced loss. `sample_weight` [batch] or [batch, ..] weights samples. Entries that a mask of y_pred excludes
  /// count neither in the sum nor in the divisor. On a replica it is the replica's part of the whole batch's
  /// loss.
  Value operator()(Value y_true, Value y_pred, Value sample_weight = {});
  /// The loss's own mask, in addition to y_pred's mask (ignore_class), in the shape of `losses`, the result of `call`;
  /// or empty.
  virtual Value own_mask(Value y_true, Value losses) const {
    static_cast<void>(y_true);
    static_cast<void>(losses);
    return {};
  }
  /// Whether `call` itself applies y_pred's mask, whose axes its result does not have.
  virtual bool applies_mask() const { return false; }

  /// Whether the loss is computed from the logits before a softmax or sigmoid.
  bool fuse_logits = true;

 private:
  std::string name_;
  Reduction reduction_;
  std::optional<DType> dtype_;
};
using LossPtr = std::shared_ptr<Loss>;

namespace losses {

/// The rows of the options of all losses.
template <class Options> constexpr auto loss_fields() {
  return option_rows(option<&Options::reduction>(
                         "How the losses of the samples become one number: \"sum_over_batch_size\", \"sum\", \"mean\", "
                         "\"mean_with_sample_weight\" or \"none\"."),
                     option<&Options::name>("Name of the loss."),
                     option<&Options::dtype>("Dtype in which it is computed, such as \"float32\" or \"float16\". "
                                             "Default: that of the predictions, or float32 for half precision."));
}

/// The options of losses without others.
struct LossOptions {
  std::string reduction = "sum_over_batch_size";
  /// The name; if empty, that of its class.
  std::string name = {}, dtype = {};
  template <class O = LossOptions> static constexpr auto fields() { return option_rows(loss_fields<O>()); }
};

/// A function of (y_true, y_pred) as a loss.
LossPtr from_function(std::function<Value(Value, Value)> function, std::string name = "loss");

/// Finds a loss by name, also by Keras's short names: "mae", "mse", "mape", "msle", "bce", "kld"; or returns the
/// object. Throws Error(value), listing all names, for an unknown name.
LossPtr get(const Choice<Loss>& choice);

}  // namespace losses

/// Makes the ranks of targets and predictions equal: if they differ by one and the larger's last extent is 1, the
/// target gets or loses that axis (R-5, L-34).
Value match_rank(Value y_true, Value y_pred);

}  // namespace etude
