#pragma once

/// Private to core/losses: code shared by losses that are functions of a target and a prediction.
#include <functional>
#include <optional>
#include <utility>

#include "etude/base/backend.hpp"
#include "etude/losses/loss.hpp"

namespace etude::losses {

/// Whether a target may have an extent of 1 where the prediction has a larger one.
enum class Targets : std::uint8_t { broadcast, of_equal_shape };

/// y_true in the dtype and shape of y_pred. Throws Error(shape) if it has another shape, and cannot be broadcast after
/// the batch axis.
Value in_shape_of(Value y_true, Value y_pred, const char* where, Targets targets = Targets::of_equal_shape);
/// Throws Error(value) unless it is a number from 0 to 1.
void check_smoothing(const std::string& name, double smoothing);
/// Integer targets [batch, ..] or [batch, .., 1] as int32 [batch, ..], for predictions [batch, .., classes]. Throws
/// Error(shape) for others. Labels from the host must be a class, or `ignored`, unless y_pred is masked.
Value labels_of(const char* where, Value y_true, Value y_pred, std::optional<std::int64_t> ignored = {});
/// x with `axis` moved to the end.
Value with_last(Value x, std::ptrdiff_t axis);

/// A function of targets and predictions, after targets have the shape of predictions.
class LossOf : public Loss {
 public:
  using Function = std::function<Value(Value y_true, Value y_pred)>;
  LossOf(const char* where, std::string name, Reduction reduction, Function function, Targets targets)
      : Loss(std::move(name), reduction), where_(where), function_(std::move(function)), targets_(targets) {}
  Value call(Value y_true, Value y_pred) override {
    return function_(in_shape_of(y_true, y_pred, where_, targets_), y_pred);
  }

 private:
  const char* where_;
  Function function_;
  Targets targets_;
};

/// The same options, with the class's name if they have none.
inline LossOptions named(LossOptions options, const char* name) {
  if (options.name.empty()) options.name = name;
  return options;
}

template <class Options> LossPtr loss_of(const char* class_name, const Options& options, LossOf::Function function,
                                         Targets targets = Targets::broadcast) {
  return std::make_shared<LossOf>(class_name, options.name, reduction_from_name(options.reduction), std::move(function),
                                  targets);
}

}  // namespace etude::losses
