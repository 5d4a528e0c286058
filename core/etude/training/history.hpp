#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/training/callback.hpp"

namespace etude {

/// What every epoch reported: fit returns one (L-30).
class History : public Callback {
 public:
  /// The indices of the epochs that ran.
  const std::vector<int>& epoch() const { return epoch_; }
  /// The values called `name`, one per epoch in which it occurred; throws Error(value) listing the names there are.
  const std::vector<double>& operator[](std::string_view name) const;
  /// Whether there is a log of that name.
  bool contains(std::string_view name) const;
  /// Names in the order in which they first came, each with its values.
  const std::vector<std::pair<std::string, std::vector<double>>>& history() const { return history_; }

  void on_train_begin(Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  std::vector<int> epoch_;
  std::vector<std::pair<std::string, std::vector<double>>> history_;
};
using HistoryPtr = std::shared_ptr<History>;

}  // namespace etude
