#pragma once

#include <span>
#include <string>
#include <vector>

#include "etude/training/per_output.hpp"
#include "etude/training/step.hpp"

namespace etude {

/// The metrics of a compiled model. Source: CompileMetrics in keras/src/trainers/compile_utils.py.
class CompiledMetrics {
 public:
  struct Entry {
    MetricPtr metric;
    std::string name;  ///< In logs: "<output>_<metric>" if there are several outputs (M-12, M-11).
    std::size_t output;
    bool weighted;
  };

  CompiledMetrics() = default;
  /// Throws Error(value) for unknown names, and for an object that is passed twice.
  CompiledMetrics(MetricChoices metrics, MetricChoices weighted);
  /// Within a trace: updates the metrics with a batch. The first batch determines the meaning of "accuracy" (M-1).
  /// `names` are those of the outputs, `logged` the same in logs.
  void update(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
              std::span<const std::string> logged);
  /// Resets the passed objects before the first batch, because another model may have updated them.
  void reset_given();
  /// Empty before the first batch.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string name_of(const std::string& metric, const std::string& prefix, bool weighted) const;
  void build(const StepData& data, const Outputs& y_pred, std::span<const std::string> names,
             std::span<const std::string> logged);

  MetricChoices metrics_, weighted_;
  std::vector<Entry> entries_;
  bool built_ = false;
};

}  // namespace etude
