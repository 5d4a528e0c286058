#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "etude/callbacks/monitor_callback.hpp"
#include "etude/callbacks/save_frequency.hpp"

namespace etude {

struct ModelCheckpointOptions {
  /// The path. {epoch}, counted from 1, {batch} and the names of logs are replaced by their values, formatted like
  /// Python's format(): "weights-{epoch:02d}-{val_loss:.2f}.safetensors".
  std::string filepath = {};
  std::string monitor = "val_loss";
  /// 1: prints what is saved, and why.
  int verbose = 0;
  /// Saves only when the monitored value has improved.
  bool save_best_only = false;
  /// Saves only the weights instead of the model.
  bool save_weights_only = false;
  std::string mode = "auto";
  SaveFrequency save_freq = "epoch";
  /// The value that the monitored value must exceed at first.
  std::optional<double> initial_value_threshold = {};
  /// The receivers of messages and warnings; stdout and stderr if empty.
  TextSink print = {}, warn = {};

  template <class O = ModelCheckpointOptions> static constexpr auto fields() {
    return option_rows(
        option<&O::filepath>(
            "Path of the file or folder; {epoch} and names of logs are replaced: \"{epoch:02d}-{val_loss:.2f}\".",
            Need::required),
        option<&O::monitor>("Name of the monitored log."), option<&O::verbose>("1: prints when it saves."),
        option<&O::save_best_only>("Whether only the best model so far is kept."),
        option<&O::save_weights_only>("Whether only the weights are saved."),
        option<&O::mode>("Whether less (\"min\") or more (\"max\") is better; \"auto\" depends on the name."),
        option<&O::save_freq>("\"epoch\", or a number of batches between saves."),
        option<&O::initial_value_threshold>("Value that must be exceeded before the first save."));
  }
};

/// Saves the model, as Model::save does, or its weights, during training (C-8). Loading finds the last complete save.
/// With save_best_only the best value is kept from one fit to the next. Source:
/// keras/src/callbacks/model_checkpoint.py.
class ModelCheckpoint : public MonitorCallback {
 public:
  using Options = ModelCheckpointOptions;
  static constexpr ClassText about{.name = "ModelCheckpoint",
                                   .text = "Saves the model, or its weights, during training.",
                                   .example = R"({"filepath": "model.keras"})"};
  /// Throws Error(value) without a filepath, and for weights unless the file's name ends with that of a format of
  /// save_weights, such as .safetensors or .weights.h5.
  explicit ModelCheckpoint(ModelCheckpointOptions options);

  Needs needs(Hook hook) const override {
    return hook == (saves_.each_epoch() ? Hook::epoch_end : Hook::train_batch_end) ? Needs::variables : Needs::nothing;
  }
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }
  /// Both throw Error(value) if the filepath names an unknown log, or with save_best_only if the direction of
  /// improvement is unknown (C-1); Error(io) if saving fails.
  void on_train_batch_end(std::int64_t batch, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  void save(std::optional<std::int64_t> batch, const Logs& logs);
  bool is_best(const Logs& logs, const std::string& path);

  ModelCheckpointOptions options_;
  SaveCounter saves_;
  int epoch_ = 0;
};

namespace callbacks {

inline constexpr Factory<ModelCheckpoint> model_checkpoint;

}  // namespace callbacks
}  // namespace etude
