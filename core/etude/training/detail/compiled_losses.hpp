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

/// The losses of a compiled model, at most one per output. Source: CompileLoss in keras/src/trainers/compile_utils.py.
class CompiledLosses {
 public:
  CompiledLosses() = default;
  /// Throws Error(value) for unknown names.
  CompiledLosses(PerOutput<Choice<Loss>> losses, PerOutput<double> weights, bool fuse_logits);
  bool empty() const { return losses_.empty(); }

  /// Within a trace: the sum of the outputs' losses, each times its weight (L-23). With several outputs it also updates
  /// the means of their losses. Outputs without a target are omitted; throws Error(data) if none has a target.
  /// `names` are those of the outputs, `logged` the same in logs.
  Value operator()(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
                   std::span<const std::string> logged);
  /// The means of single outputs' losses, unweighted: "<output>_loss".
  const std::vector<std::shared_ptr<Mean>>& means() const { return means_; }

 private:
  void resolve(std::span<const std::string> names, std::span<const std::string> logged);

  PerOutput<Choice<Loss>> losses_;
  PerOutput<double> weights_;
  std::vector<LossPtr> loss_of_;
  std::vector<double> weight_of_;
  std::vector<std::shared_ptr<Mean>> means_;
  bool fuse_logits_ = true;
};

/// The Value of one output, from the Values of a batch: one Value for one output, one for each output, or (for weights)
/// none.
Value of_output(const std::vector<Value>& given, std::size_t output);

/// Within a trace: adds the loss of a batch, or of a replica's part of it, to a mean over samples (L-21).
void track_loss(Mean& mean, Value loss, const StepData& data);

}  // namespace etude
