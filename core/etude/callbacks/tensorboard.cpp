#include "etude/callbacks/tensorboard.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/detail/save_model.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

/// Steps per second since `began`; a host's clock may not have advanced.
double rate(std::int64_t steps, double began) {
  return static_cast<double>(steps) / std::max(monotonic_seconds() - began, 1e-9);
}

}  // namespace

UpdateFrequency::UpdateFrequency(const char* name) {
  const std::string_view given = name;
  check(given == "epoch" || given == "batch", ErrorKind::value, "TensorBoard", "update_freq = \"", given,
        "\" - expected \"epoch\", \"batch\" or a number of batches - pass one of these.");
  batches_ = given == "batch";
}

UpdateFrequency::UpdateFrequency(int batches) : batches_(batches) {
  check(batches > 0, ErrorKind::value, "TensorBoard", "update_freq = ", batches,
        " - expected \"epoch\", \"batch\" or a number of batches of 1 or more - pass one of these.");
}

TensorBoard::TensorBoard(TensorBoardOptions options) : options_(std::move(options)) {
  const auto unavailable = [](bool asked, const char* option, const char* advice) {
    check(!asked, ErrorKind::value, "TensorBoard", option,
          " is not supported - expected no such option, because Étude writes scalars and histograms only - ", advice,
          '.');
  };
  unavailable(options_.write_graph, "write_graph", "see model.summary() and model.explain()");
  unavailable(options_.write_images, "write_images", "histogram_freq shows the weights' distributions");
  unavailable(options_.profile_batch != 0, "profile_batch", "OperationalMetrics measures steps");
  unavailable(options_.embeddings_freq != 0, "embeddings_freq", "omit it");
  check(options_.histogram_freq >= 0, ErrorKind::value, "TensorBoard", "histogram_freq = ", options_.histogram_freq,
        " - expected 0, for none, or a number of epochs - pass such a number.");
  if (!options_.open) check_is_path(options_.log_dir, "TensorBoard");
}

// Each loop has separate files.
void TensorBoard::set_model(Model* model) {
  Callback::set_model(model);
  release();
}

EventFile& TensorBoard::train() {
  return train_ ? *train_ : train_.emplace(options_.open, options_.log_dir + "/train");
}
EventFile& TensorBoard::validation() {
  return validation_ ? *validation_ : validation_.emplace(options_.open, options_.log_dir + "/validation");
}

void TensorBoard::on_train_begin(Logs&) { batches_ = 0; }

void TensorBoard::on_epoch_begin(int, Logs&) {
  epoch_batches_ = 0;
  epoch_began_ = monotonic_seconds();
}

void TensorBoard::on_train_batch_begin(std::int64_t step, Logs&) {
  first_step_ = step;
  execution_began_ = monotonic_seconds();
}

void TensorBoard::on_train_batch_end(std::int64_t step, Logs& logs) {
  const std::int64_t before = batches_, steps = step - first_step_ + 1;
  batches_ += steps;
  epoch_batches_ += steps;
  // An execution may run several steps: values due within it are written after it.
  const int every = options_.update_freq.batches();
  if (every == 0 || batches_ / every == before / every) return;
  if (options_.write_steps_per_second)
    train().add_scalar("batch_steps_per_second", rate(steps, execution_began_), batches_);
  for (std::size_t i = 0; i < logs.size(); ++i) train().add_scalar("batch_" + logs.name(i), logs.value(i), batches_);
}

void TensorBoard::on_epoch_end(int epoch, Logs& logs) {
  const bool has_rate = model().optimizer().has_learning_rate();
  for (const auto& [name, value] : logs.values()) {
    if (name.starts_with("val_"))
      validation().add_scalar("epoch_" + name.substr(4), value, epoch);
    else if (!has_rate || name != "learning_rate")  // that of the logs may be older
      train().add_scalar("epoch_" + name, value, epoch);
  }
  if (has_rate) train().add_scalar("epoch_learning_rate", model().optimizer().learning_rate(), epoch);
  if (options_.write_steps_per_second)
    train().add_scalar("epoch_steps_per_second", rate(epoch_batches_, epoch_began_), epoch);
  if (options_.histogram_freq && epoch % options_.histogram_freq == 0) write_histograms(epoch);
  train().flush();
  if (validation_) validation_->flush();
}

void TensorBoard::write_histograms(int epoch) {
  std::vector<double> values;
  for (const Variable& weight : model().weights()) {
    const Tensor tensor = weight.value();
    values.resize(static_cast<std::size_t>(tensor.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = tensor.at(static_cast<std::int64_t>(i));
    train().add_histogram(weight.name() + "/histogram", values, epoch);
  }
}

void TensorBoard::on_test_end(Logs& logs) {
  for (const auto& [name, value] : logs.values())
    validation().add_scalar("evaluation_" + name + "_vs_iterations", value, model().optimizer().iterations());
  validation().flush();
}

void TensorBoard::on_train_end(Logs&) { release(); }

void TensorBoard::release() noexcept {
  train_.reset();
  validation_.reset();
}

CallbackState TensorBoard::state() const {
  CallbackState state("TensorBoard");
  state.set("batches", static_cast<double>(batches_));
  return state;
}

void TensorBoard::restore(const CallbackState& state) { batches_ = static_cast<std::int64_t>(state.number("batches")); }

}  // namespace etude
