#include "cuda/chooser.hpp"

#include <limits>

namespace etude::cuda {

std::optional<std::string> Chooser::choose(const std::string& kind, const Ways& ways) {
  const std::optional<std::string> before = choices_->find(kind);
  if (before && ways.accepts(*before)) return before;
  const std::vector<std::string> names = ways.list();
  if (names.empty()) return {};
  if (!time_) return names.front();
  const bool measures = names.size() > 1 && can_time_();
  const std::optional<std::string> best = measures ? fastest(names, ways) : names.front();
  if (!best) return {};
  return choices_->keep(kind, *best, measures, before.value_or(""));
}

std::optional<std::string> Chooser::fastest(const std::vector<std::string>& names, const Ways& ways) const {
  std::optional<std::string> best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::string& name : names)
    if (const auto time = time_([&] { return ways.run(name); }); time && *time < least) {
      least = *time;
      best = name;
    }
  return best;
}

}  // namespace etude::cuda
