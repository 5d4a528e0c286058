#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "etude/callbacks/event_file.hpp"
#include "etude/training/callback.hpp"

namespace etude {

/// TensorBoard's update_freq: "epoch", "batch", or every so many batches.
class UpdateFrequency {
 public:
  /// Throws Error(value) for another name.
  UpdateFrequency(const char* name);
  /// Throws Error(value) for less than 1.
  UpdateFrequency(int batches);
  /// 0: only epochs.
  int batches() const { return batches_; }
  /// "epoch", or the number of batches.
  std::string name() const { return batches_ == 0 ? "epoch" : std::to_string(batches_); }

 private:
  int batches_ = 0;
};

struct TensorBoardOptions {
  std::string log_dir = "logs";
  /// Every how many epochs the distributions of the weights are written; 0: never.
  int histogram_freq = 0;
  // Étude does not write these; asking for them is an error rather than nothing.
  bool write_graph = false, write_images = false;
  bool write_steps_per_second = false;
  UpdateFrequency update_freq = "epoch";
  int profile_batch = 0, embeddings_freq = 0;
  /// How files are opened; in host().files if empty.
  OpenFile open = {};

  static constexpr auto fields() {
    return option_rows(
        option<&TensorBoardOptions::log_dir>("Folder of the event files."),
        option<&TensorBoardOptions::histogram_freq>("Epochs between histograms of the weights; 0: none."),
        option<&TensorBoardOptions::write_graph>("Not supported: must be false."),
        option<&TensorBoardOptions::write_images>("Not supported: must be false."),
        option<&TensorBoardOptions::write_steps_per_second>("Whether the steps per second are written."),
        option<&TensorBoardOptions::update_freq>("\"epoch\", \"batch\", or a number of batches between writes."),
        option<&TensorBoardOptions::profile_batch>("Not supported: must be 0."),
        option<&TensorBoardOptions::embeddings_freq>("Not supported: must be 0."),
        option<&TensorBoardOptions::open>("Opens the files instead of the host."));
  }
};

/// Writes what TensorBoard shows: `tensorboard --logdir logs`. Into log_dir/train epoch_*, the learning rate, and by
/// update_freq batch_*, which reads the logs of those batches; into log_dir/validation the epoch_* of validations, and
/// evaluation_*_vs_iterations. Files are begun when there is something to write, and complete after every epoch.
/// Source: keras/src/callbacks/tensorboard.py.
class TensorBoard : public Callback {
 public:
  using Options = TensorBoardOptions;
  static constexpr ClassText about{
      .name = "TensorBoard", .text = "Writes logs for TensorBoard.", .factory = "tensorboard"};
  /// Throws Error(value) for what is not offered: graphs, images, embeddings, profiles; and, unless `open` is given,
  /// for the name of another place, such as "localstorage://logs".
  explicit TensorBoard(TensorBoardOptions options = {});

  Needs needs(Hook hook) const override {
    return hook == Hook::epoch_end ? Needs::variables : hook == Hook::train_batch_end ? Needs::logs : Needs::nothing;
  }
  void set_model(Model* model) override;
  void on_train_begin(Logs&) override;
  void on_epoch_begin(int epoch, Logs&) override;
  void on_train_batch_begin(std::int64_t step, Logs&) override;
  void on_train_batch_end(std::int64_t step, Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs&) override;
  void on_test_end(Logs& logs) override;
  void release() noexcept override;
  /// So that batches are counted on where an interrupted fit goes on.
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
