#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/training/callback.hpp"

namespace etude {

/// The logs of every epoch; fit returns a History (L-30).
class History : public Callback {
 public:
  /// The indices of the epochs that ran.
  const std::vector<int>& epoch() const { return epoch_; }
  /// The values of `name`, one per epoch in which it occurred. Throws Error(value) with the list of existing names.
  const std::vector<double>& operator[](std::string_view name) const;
  /// Whether there is a log of that name.
  bool contains(std::string_view name) const;
  /// Names in the order of their first occurrence, each with its values.
  const std::vector<std::pair<std::string, std::vector<double>>>& history() const { return history_; }

  Needs needs(Hook) const override { return Needs::nothing; }
  void on_train_begin(Logs&) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;
  void on_members_change() override;

 private:
  std::vector<int> epoch_;
  std::vector<std::pair<std::string, std::vector<double>>> history_;
};
using HistoryPtr = std::shared_ptr<History>;

}  // namespace etude
