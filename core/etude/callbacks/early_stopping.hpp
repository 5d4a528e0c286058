#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/callbacks/monitor_callback.hpp"

namespace etude {

struct EarlyStoppingOptions {
  std::string monitor = "val_loss";
  /// Smaller changes do not count as an improvement.
  double min_delta = 0;
  /// Epochs without improvement after which training stops.
  int patience = 0;
  /// 1: prints when it stops training, and which weights it restores.
  int verbose = 0;
  std::string mode = "auto";
  /// The value that must be exceeded to reset patience.
  std::optional<double> baseline = {};
  bool restore_best_weights = false;
  /// Epochs before this one are ignored (C-5).
  int start_from_epoch = 0;
  /// The receivers of messages and warnings; stdout and stderr if empty.
  TextSink print = {}, warn = {};

  template <class O = EarlyStoppingOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::monitor>("Name of the monitored log."),
        option<&O::min_delta>("Smallest change that counts as an improvement."),
        option<&O::patience>("Epochs without improvement after which training stops."),
        option<&O::verbose>("1: prints when it stops training and which weights it restores."),
        option<&O::mode>("Whether less (\"min\") or more (\"max\") is better; \"auto\" depends on the name."),
        option<&O::baseline>("Value that must be exceeded before patience is reset."),
        option<&O::restore_best_weights>("Whether the model ends with the weights of its best epoch."),
        option<&O::start_from_epoch>("First monitored epoch."));
  }
};

/// Stops fit when the monitored value no longer improves (C-3, C-5). With restore_best_weights the model ends with the
/// weights of its best epoch, for any reason of the stop (C-4); they are kept in memory. Source:
/// keras/src/callbacks/early_stopping.py.
class EarlyStopping : public MonitorCallback {
 public:
  using Options = EarlyStoppingOptions;
  static constexpr ClassText about{"EarlyStopping", "Stops training when a monitored value no longer improves."};
  explicit EarlyStopping(EarlyStoppingOptions options = {});

  /// The epoch after which it stopped the last fit; 0 if it did not stop it.
  int stopped_epoch() const { return stopped_epoch_; }

  Needs needs(Hook hook) const override {
    return hook == Hook::epoch_end && options_.restore_best_weights ? Needs::variables : Needs::nothing;
  }
  void on_train_begin(Logs&) override;
  /// Throws Error(value) if the direction of improvement is unknown (C-1).
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  EarlyStoppingOptions options_;
  int wait_ = 0, stopped_epoch_ = 0, best_epoch_ = 0;
  std::vector<Tensor> best_weights_;
};

namespace callbacks {

inline constexpr Factory<EarlyStopping> early_stopping;

}  // namespace callbacks
}  // namespace etude
