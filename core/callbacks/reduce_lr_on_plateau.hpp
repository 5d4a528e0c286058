#pragma once

#include <memory>
#include <string>

#include "etude/callbacks/monitor_callback.hpp"

namespace etude {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  /// What the learning rate is multiplied with.
  double factor = 0.1;
  /// Epochs without improvement after which it is.
  int patience = 10;
  /// 1: says so.
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  /// Epochs after a reduction that do not count.
  int cooldown = 0;
  double min_lr = 0;
  /// Where messages and warnings go; stdout and stderr if empty.
  TextSink print = {}, warn = {};

  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    visit("monitor", self.monitor);
    visit("factor", self.factor);
    visit("patience", self.patience);
    visit("verbose", self.verbose);
    visit("mode", self.mode);
    visit("min_delta", self.min_delta);
    visit("cooldown", self.cooldown);
    visit("min_lr", self.min_lr);
  }
};

/// Reduces the learning rate when a figure gets no better, and writes it into the epoch's logs as "learning_rate"
/// (C-6). Source: keras/src/callbacks/reduce_lr_on_plateau.py.
class ReduceLROnPlateau : public MonitorCallback {
 public:
  /// Throws Error(value) unless factor is less than 1.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});

  void on_train_begin(Logs&) override;
  /// Throws Error(value) if it is not known which way the monitored figure gets better (C-1).
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void reduce(int epoch);

  ReduceLROnPlateauOptions options_;
  int wait_ = 0, cooldown_left_ = 0;
};

namespace callbacks {

inline std::shared_ptr<ReduceLROnPlateau> reduce_lr_on_plateau(ReduceLROnPlateauOptions options = {}) {
  return std::make_shared<ReduceLROnPlateau>(std::move(options));
}

}  // namespace callbacks
}  // namespace etude
