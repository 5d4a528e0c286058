// A part of a training, as training.mjs; continuity.mjs runs both in turn. Prints {"batches", "loss": […], "accuracy":
// […]}.
//   etude_continuity resume FOLDER [BATCH]      from the backup in FOLDER, if there is one, to BATCH or to the end
//   etude_continuity train PATH FIRST LAST      epochs FIRST to LAST of the model saved at PATH, a new one if FIRST is
//   0
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "etude/etude.hpp"

using namespace etude;

namespace {

struct Interruption {};

/// Counts the batches that begin, and throws at number `at`.
class Interrupter : public Callback {
 public:
  explicit Interrupter(int at) : at_(at) {}
  void on_train_batch_begin(std::int64_t, Logs&) override {
    if (batches_++ == at_) throw Interruption{};
  }
  int batches() const { return batches_; }

 private:
  int at_, batches_ = 0;
};

Tensor waves(const Shape& shape) {
  Tensor result(shape);
  double phase = 0;
  for (float& value : result.data<float>()) value = static_cast<float>(std::sin(phase += 1.7));
  return result;
}

Tensor signs_of(const Tensor& x) {
  Tensor result({x.shape()[0], 1});
  for (std::int64_t row = 0; row < x.shape()[0]; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < x.shape()[1]; ++i) sum += x.at(row * x.shape()[1] + i);
    result.data<float>()[static_cast<std::size_t>(row)] = sum > 0;
  }
  return result;
}

/// A file of Keras lacks the states of random draws, so a model for one draws none.
ModelPtr new_model(bool draws, bool resumes) {
  auto model = std::make_shared<Sequential>(std::vector<LayerPtr>{
      layers::dense({.units = 6, .activation = "relu"}), layers::batch_normalization(),
      layers::dropout({.rate = draws ? 0.3 : 0.0}), layers::dense({.units = 1, .activation = "sigmoid"})});
  LearningRate learning_rate = 0.001;  // a callback reduces the rate of a fit that resumes
  if (!resumes)
    learning_rate = schedules::exponential_decay({.initial_learning_rate = 0.005, .decay_steps = 5, .decay_rate = 0.9});
  model->compile({.optimizer = optimizers::adam({.learning_rate = learning_rate}),
                  .loss = "binary_crossentropy",
                  .metrics = {"accuracy"}});
  return model;
}

int run(const std::vector<std::string>& arguments) {
  const bool resumes = arguments[0] == "resume";
  const std::string& path = arguments[1];
  const int stop = resumes && arguments.size() > 2 ? std::stoi(arguments[2]) : -1;
  const int first = resumes ? 0 : std::stoi(arguments[2]), last = resumes ? 4 : std::stoi(arguments[3]);
  const bool draws = !path.ends_with(".keras");
  set_random_seed(7);
  const Tensor x = waves({44, 5}), y = signs_of(x);
  const ModelPtr model = first > 0 ? load_model(path) : new_model(draws, resumes);
  const auto interrupter = std::make_shared<Interrupter>(stop);
  FitOptions options{.batch_size = 8, .epochs = last, .verbose = 0, .callbacks = {interrupter}, .initial_epoch = first};
  options.shuffle = draws;
  if (resumes) {
    options.validation_data = Data(x, y);
    options.callbacks.push_back(callbacks::reduce_lr_on_plateau({.monitor = "loss", .patience = 1}));
    options.callbacks.push_back(callbacks::backup_and_restore({.backup_dir = path, .save_freq = 2}));
  }
  try {
    const HistoryPtr history = model->fit(x, y, options);
    if (!resumes) model->save(path);
    const nlohmann::json result{
        {"batches", interrupter->batches()}, {"loss", (*history)["loss"]}, {"accuracy", (*history)["accuracy"]}};
    std::cout << result.dump() << '\n';
  } catch (const Interruption&) {
    std::cout << nlohmann::json{{"batches", interrupter->batches()}}.dump() << '\n';
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) { return run({arguments + 1, arguments + count}); }
