#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "etude/losses/loss.hpp"
#include "etude/metrics/metric.hpp"
#include "etude/training/per_output.hpp"
#include "etude/training/step.hpp"

namespace etude {

/// The losses of a compiled model, one for each output that has any. Source: CompileLoss in
/// keras/src/trainers/compile_utils.py.
class CompiledLosses {
 public:
  CompiledLosses() = default;
  /// Throws Error(value) for unknown names.
  CompiledLosses(PerOutput<Choice<Loss>> losses, PerOutput<double> weights, bool fuse_logits);
  bool empty() const { return losses_.empty(); }

  /// Within a trace: the sum of the outputs' losses, each times its weight (L-23). Where there are several outputs it
  /// keeps the means of their losses too. Outputs without a target are left out; throws Error(data) where none has one
  ///
  Value operator()(const StepData& data, const Outputs& y_pred, std::span<const std::string> names);
  /// The means of single outputs' losses, unweighted: "<output>_loss".
  const std::vector<std::shared_ptr<Mean>>& means() const { return means_; }

 private:
  void resolve(std::span<const std::string> names);

  PerOutput<Choice<Loss>> losses_;
  PerOutput<double> weights_;
  std::vector<LossPtr> loss_of_;
  std::vector<double> weight_of_;
  std::vector<std::shared_ptr<Mean>> means_;
};

/// What belongs to one output of what was given for a batch: as it is for one output, or one for each, or (for weights)
/// nothing at all.
Value of_output(const std::vector<Value>& given, std::size_t output);

/// Within a trace: takes the loss of a batch, of a replica its part of it, into a mean over samples (L-21).
void track_loss(Mean& mean, Value loss, const StepData& data);

}  // namespace etude
