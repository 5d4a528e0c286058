#include "etude/training/detail/compiled_losses.hpp"

#include "etude/base/error.hpp"
#include "etude/ops/elementwise.hpp"

namespace etude {

void track_loss(Mean& mean, Value loss, const StepData& data) {
  const Shard& shard = loss.graph().shard();
  const double samples =
      data.x.empty() || data.x[0].shape().rank() == 0 ? 1 : static_cast<double>(data.x[0].shape()[0]);
  // The mean adds up the replicas' parts, each weighted by the samples of its shard.
  const bool is_part = shard.replicas > 1 && loss.shape().rank() == 0;
  mean.update(is_part ? loss * (static_cast<double>(shard.batch) / samples) : loss, ops::scalar(samples, loss));
}

Value of_output(const std::vector<Value>& given, std::size_t output) {
  if (given.empty()) return {};
  return given.size() == 1 ? given.front() : given.at(output);
}

CompiledLosses::CompiledLosses(PerOutput<Choice<Loss>> losses, PerOutput<double> weights, bool fuse_logits)
    : losses_(std::move(losses)), weights_(std::move(weights)), fuse_logits_(fuse_logits) {
  bool any = false;
  losses_.for_each([&](Choice<Loss>& choice) {
    if (choice.empty()) return;
    any = true;
    choice = losses::get(choice);
  });
  if (!any) losses_ = PerOutput<Choice<Loss>>();
}

/// Matches losses with outputs, whose names are known after the model's first call.
void CompiledLosses::resolve(std::span<const std::string> names, std::span<const std::string> logged) {
  if (!loss_of_.empty()) return;
  const auto losses = losses_.resolve(names, "loss");
  const auto weights = weights_.resolve(names, "loss_weights");
  for (std::size_t i = 0; i < names.size(); ++i) {
    loss_of_.push_back(losses[i] ? losses[i]->object() : nullptr);
    weight_of_.push_back(weights[i].value_or(1));
    if (names.size() > 1 && loss_of_[i]) means_.push_back(metrics::mean({.name = logged[i] + "_loss"}));
  }
}

Value CompiledLosses::operator()(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
                                 std::span<const std::string> logged) {
  resolve(names, logged);
  Value total;
  auto mean = means_.begin();
  const LossPtr* missing = nullptr;
  for (std::size_t i = 0; i < y_pred.size(); ++i) {
    const LossPtr& loss = loss_of_[i];
    if (!loss) continue;
    const std::shared_ptr<Mean> tracked = means_.empty() ? nullptr : *mean++;
    if (data.y.empty() || (i < data.y.size() && !data.y[i])) {
      missing = &loss;
      continue;
    }
    check(data.y.size() == y_pred.size(), ErrorKind::data, "fit", data.y.size(), " targets for ", y_pred.size(),
          " outputs - expected a target for each - pass a list of y in the order of the outputs.");
    check(data.sample_weight.size() < 2 || data.sample_weight.size() == y_pred.size(), ErrorKind::data, "fit",
          data.sample_weight.size(), " sample weights for ", y_pred.size(),
          " outputs - expected one for all outputs, or one for each - pass as many.");
    loss->fuse_logits = fuse_logits_;  // another model may have the same loss
    Value value = (*loss)(data.y[i], y_pred[i], of_output(data.sample_weight, i));
    // The total has one dtype.
    if (loss->dtype()) value = ops::cast(value, is_half(y_pred[i].dtype()) ? DType::float32 : y_pred[i].dtype());
    if (tracked) track_loss(*tracked, value, data);
    const Value weighted = weight_of_[i] == 1 ? value : value * weight_of_[i];
    total = total ? total + weighted : weighted;
  }
  check(total || !missing, ErrorKind::data, "fit",
        "Target data is missing - Your model was compiled with loss=", missing ? (*missing)->name() : "",
        ", and therefore expects target data to be provided in `fit()` - pass y.");
  return total;
}

}  // namespace etude
