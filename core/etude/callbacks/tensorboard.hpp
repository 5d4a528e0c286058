#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "etude/callbacks/detail/event_file.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// TensorBoard's update_freq: "epoch", "batch", or a number of batches.
class UpdateFrequency {
 public:
  /// Throws Error(value) for another name.
  UpdateFrequency(const char* name);
  /// Throws Error(value) for a number below 1.
  UpdateFrequency(int batches);
  /// The number of batches; 0: only epochs.
  int batches() const { return batches_; }
  /// "epoch", or the number of batches.
  std::string name() const { return batches_ == 0 ? "epoch" : std::to_string(batches_); }

 private:
  int batches_ = 0;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  /// The number of epochs between histograms of the weights; 0: none.
  int histogram_freq = 0;
  // Étude does not write these; requesting them is an error.
  bool write_graph = false, write_images = false;
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";
  int profile_batch = 0, embeddings_freq = 0;
  /// Opens the files; host().files if empty.
  OpenFile open = {};

  template <class O = TensorBoardOptions> static constexpr auto fields() {
    return option_rows(option<&O::log_dir>("Folder of the event files."),
                       option<&O::histogram_freq>("Epochs between histograms of the weights; 0: none."),
                       option<&O::write_graph>("Not supported: must be false."),
                       option<&O::write_images>("Not supported: must be false."),
                       option<&O::write_steps_per_second>("Whether the steps per second are written."),
                       option<&O::update_freq>("\"epoch\", \"batch\", or a number of batches between writes."),
                       option<&O::profile_batch>("Not supported: must be 0."),
                       option<&O::embeddings_freq>("Not supported: must be 0."),
                       option<&O::open>("Function that opens the files instead of the host."));
  }
};

/// Writes files for TensorBoard: `tensorboard --logdir logs`. log_dir/train has epoch_*, the learning rate, and with
/// update_freq batch_*, which reads the logs of those batches. log_dir/validation has the epoch_* of validations, and
/// evaluation_*_vs_iterations. Files are created with their first value, and are complete after every epoch. Source:
/// keras/src/callbacks/tensorboard.py.
class TensorBoard : public Callback {
 public:
  using Options = TensorBoardOptions;
  static constexpr ClassText about{
      .name = "TensorBoard", .text = "Writes logs for TensorBoard.", .factory = "tensorboard"};
  /// Throws Error(value) for unsupported options: graphs, images, embeddings, profiles; and, without `open`, for the
  /// name of another place, such as "localstorage://logs".
  explicit TensorBoard(TensorBoardOptions options = {});

  Needs needs(Hook hook) const override {
    if (hook == Hook::epoch_end || hook == Hook::test_end) return Needs::variables;
    return hook == Hook::train_batch_end ? Needs::logs : Needs::nothing;
  }
  bool needs_each_execution() const override { return options_.update_freq.batches() > 0; }
  void set_model(Model* model) override;
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_begin(std::int64_t step, Logs&) override;
  void on_train_batch_end(std::int64_t step, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  void on_test_end(Logs& logs) override;
  void release() noexcept override;
  /// Saves the count of batches, which an interrupted fit continues.
  CallbackState state() const override;
  void restore(const CallbackState& state) override;

 private:
  EventFile& train();
  EventFile& validation();
  void write_histograms(int epoch);

  TensorBoardOptions options_;
  std::optional<EventFile> train_, validation_;
  /// Batches of this fit, those of this epoch, and the first of this execution.
  std::int64_t batches_ = 0, epoch_batches_ = 0, first_step_ = 0;
  double epoch_began_ = 0, execution_began_ = 0;
};

namespace callbacks {

inline constexpr Factory<TensorBoard> tensorboard;

}  // namespace callbacks
}  // namespace etude
