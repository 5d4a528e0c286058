#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/vfs.hpp"

/// Private to the search: the file metrics.jsonl of a trial, which grows while the trial runs: a JSON object a line.
namespace etude::experiment {

/// The content of a line.
struct MetricsLine {
  enum class Kind { validation, progress, invalid, other, damaged };
  Kind kind = Kind::other;
  /// Of a validation: the metric, not a number if it is null, and how long the trial trained; none if the line lacks
  /// it.
  std::optional<double> metric = {}, time = {};
  double progress = 0;
};

/// {"group": "validation", "steps_completed": 10, "metrics": {"loss": 0.1}, ..}, {"progress": 0.5}, {"status":
/// "invalid_hp", ..} or another object. `time_metric` is a member of the line or a metric.
MetricsLine parse_metrics_line(const std::string& line, const std::string& metric, const std::string& time_metric);

/// The complete lines from byte `from` on. Moves `from` behind them.
std::vector<std::string> new_lines(Vfs& files, const std::string& path, std::uint64_t& from);

/// Removes what follows byte `end`: a line that was not completed, because its writer was killed.
void truncate(Vfs& files, const std::string& path, std::uint64_t end);

}  // namespace etude::experiment
