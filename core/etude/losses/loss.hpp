#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "etude/base/choice.hpp"
#include "etude/classes/class_entry.hpp"
#include "etude/graph/graph.hpp"

namespace etude {

/// How a batch of per-sample losses becomes one number.
enum class Reduction : std::uint8_t {
  sum_over_batch_size,  ///< sum / number of elements, weighted or not (R-2)
  sum,
  mean,                     ///< as sum_over_batch_size
  mean_with_sample_weight,  ///< sum / sum of weights
  none
};
/// The reduction of that name. Throws Error(value) listing those that exist.
Reduction reduction_from_name(std::string_view name);

/// A loss: what is to be made small. Source: keras/src/losses/loss.py.
class Loss : public Described {
 public:
  using Kind = Loss;
  /// A loss of that name.
  Loss(std::string name, Reduction reduction) : name_(std::move(name)), reduction_(reduction) {}
  virtual ~Loss() = default;
  /// What it is called in logs.
  const std::string& name() const { return name_; }
  /// How the values of samples become one.
  Reduction reduction() const { return reduction_; }

  /// The loss of each sample: [batch, ..] -> [batch, ..] without the last axis. Or one of the whole batch, a scalar,
  /// which sample weights and their reduction multiply.
  virtual Value call(Value y_true, Value y_pred) = 0;
  /// The reduced loss. `sample_weight` [batch] or [batch, ..] weighs samples; where y_pred carries a mask, entries that
  /// it leaves out count neither in the sum nor in the divisor. Of a replica it is its part of the whole batch's.
  Value operator()(Value y_true, Value y_pred, Value sample_weight = {});
  /// What one loss wants left out besides y_pred's mask (ignore_class), of the shape of `call`'s result; or empty.
  virtual Value own_mask(Value y_true) const {
    static_cast<void>(y_true);
    return {};
  }

  /// Whether a softmax or sigmoid before this loss is taken back, and the loss computed from logits.
  bool fuse_logits = true;

 private:
  std::string name_;
  Reduction reduction_;
};
using LossPtr = std::shared_ptr<Loss>;

namespace losses {

/// The rows of what every loss can be given.
template <class Options> constexpr auto loss_fields() {
  return option_rows(option<&Options::reduction>(
                         "How the losses of the samples become one number: \"sum_over_batch_size\", \"sum\", \"mean\", "
                         "\"mean_with_sample_weight\" or \"none\"."),
                     option<&Options::name>("Name of the loss."));
}

/// The options of a loss that has no others.
struct LossOptions {
  std::string reduction = "sum_over_batch_size";
  /// That of its class where it is empty.
  std::string name = {};
  static constexpr auto fields() { return option_rows(loss_fields<LossOptions>()); }
};

/// A function of (y_true, y_pred) as a loss.
LossPtr from_function(std::function<Value(Value, Value)> function, std::string name = "loss");

/// By name or object, by Keras's short names too: "mae", "mse", "mape", "msle", "bce", "kld"; throws Error(value)
/// listing the names there are.
LossPtr get(const Choice<Loss>& choice);

}  // namespace losses

/// Makes the ranks of targets and predictions agree: where they differ by one and the larger's last extent is 1, the
/// target gets or loses that axis (R-5, L-34).
Value match_rank(Value y_true, Value y_pred);

}  // namespace etude
