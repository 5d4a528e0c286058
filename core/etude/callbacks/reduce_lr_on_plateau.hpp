#pragma once

#include <memory>
#include <string>

#include "etude/callbacks/monitor_callback.hpp"

namespace etude {

struct ReduceLROnPlateauOptions {
  std::string monitor = "val_loss";
  /// The factor by which the learning rate is multiplied.
  double factor = 0.1;
  /// Epochs without improvement after which it is reduced.
  int patience = 10;
  /// 1: prints each reduction.
  int verbose = 0;
  std::string mode = "auto";
  double min_delta = 1e-4;
  /// Epochs after a reduction that are not counted.
  int cooldown = 0;
  double min_lr = 0;
  /// The receivers of messages and warnings; stdout and stderr if empty.
  TextSink print = {}, warn = {};

  template <class O = ReduceLROnPlateauOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::monitor>("Name of the monitored log."),
        option<&O::factor>("Factor by which the learning rate is multiplied."),
        option<&O::patience>("Epochs without improvement after which it is reduced."),
        option<&O::verbose>("1: prints when it reduces the learning rate."),
        option<&O::mode>("Whether less (\"min\") or more (\"max\") is better; \"auto\" depends on the name."),
        option<&O::min_delta>("Smallest change that counts as an improvement."),
        option<&O::cooldown>("Epochs after a reduction without another one."),
        option<&O::min_lr>("Smallest learning rate."));
  }
};

/// Reduces the learning rate when the monitored value no longer improves, and writes it into the epoch's logs as
/// "learning_rate" (C-6). Of a MultiOptimizer it reduces and logs the rate of each optimizer. Source:
/// keras/src/callbacks/reduce_lr_on_plateau.py.
class ReduceLROnPlateau : public MonitorCallback {
 public:
  using Options = ReduceLROnPlateauOptions;
  static constexpr ClassText about{"ReduceLROnPlateau",
                                   "Reduces the learning rate when a monitored value no longer improves."};
  /// Throws Error(value) unless factor is less than 1.
  explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});

  Needs needs(Hook hook) const override { return hook == Hook::epoch_end ? Needs::variables : Needs::nothing; }
  void on_train_begin(Logs&) override;
  /// Throws Error(value) if the direction of improvement is unknown (C-1).
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void reduce(int epoch);

  ReduceLROnPlateauOptions options_;
  int wait_ = 0, cooldown_left_ = 0;
};

namespace callbacks {

inline constexpr Factory<ReduceLROnPlateau> reduce_lr_on_plateau;

}  // namespace callbacks
}  // namespace etude
