#include "etude/training/history.hpp"

#include <algorithm>

#include "etude/base/error.hpp"

namespace etude {
namespace {

const std::string log_prefix = "logs/";

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

CallbackState History::state() const {
  CallbackState state("History");
  if (!epoch_.empty()) state.set("epoch", Tensor::from<std::int32_t>({std::ssize(epoch_)}, epoch_));
  for (const auto& [name, values] : history_)
    state.set(log_prefix + name, Tensor::from<double>({std::ssize(values)}, values));
  return state;
}

/// The earlier step may have been before the first epoch's end, which is no state.
void History::on_members_change() {
  epoch_.clear();
  history_.clear();
}

void History::restore(const CallbackState& state) {
  epoch_.clear();
  history_.clear();
  for (const auto& [name, tensor] : state.entries()) {
    if (name == "epoch") {
      const auto epochs = tensor.data<std::int32_t>();
      epoch_.assign(epochs.begin(), epochs.end());
    } else {
      const auto values = tensor.data<double>();
      history_.emplace_back(name.substr(log_prefix.size()), std::vector<double>(values.begin(), values.end()));
    }
  }
}

}  // namespace etude
