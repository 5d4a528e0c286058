#include "etude/training/history.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {
namespace {

auto find(auto& history, std::string_view name) {
  return std::ranges::find_if(history, [&](const auto& entry) { return entry.first == name; });
}

}  // namespace

bool History::contains(std::string_view name) const { return find(history_, name) != history_.end(); }

const std::vector<double>& History::operator[](std::string_view name) const {
  const auto entry = find(history_, name);
  std::string known;
  for (const auto& [key, values] : history_) known += (known.empty() ? "" : ", ") + key;
  check(entry != history_.end(), ErrorKind::value, "History", '"', name, "\" - expected one of: ", known,
        " - check the metric's name.");
  return entry->second;
}

void History::on_train_begin(Logs&) {
  epoch_.clear();
  history_.clear();
}

void History::on_epoch_end(int epoch, Logs& logs) {
  epoch_.push_back(epoch);
  for (const auto& [name, value] : logs.values()) {
    auto entry = find(history_, name);
    if (entry == history_.end()) entry = history_.insert(entry, {name, {}});
    entry->second.push_back(value);
  }
}

}  // namespace etude
