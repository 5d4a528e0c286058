// Trains on Fashion-MNIST in several processes. One of them is killed. The others go on, and it joins them when it is
// started again: etude-launch --elastic -n 3 --max-restarts 1 cluster
#include <csignal>
#include <cstdio>
#include <etude/etude.hpp>

namespace {

using namespace etude;

/// Kills this process after some steps if `kills`, and prints how many processes train whenever that changes.
class Disturbance : public Callback {
 public:
  Disturbance(Workers& workers, bool kills) : workers_(workers), kills_(kills) {}

  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (kills_ && epoch_ == 0 && batch == 100) std::raise(SIGKILL);
    if (workers_.is_chief() && workers_.count() != count_)
      std::printf("epoch %d, step %d: %d processes\n", epoch_ + 1, static_cast<int>(batch) + 1, workers_.count());
    count_ = workers_.count();
  }
  void on_epoch_begin(int epoch, Logs&) override { epoch_ = epoch; }

 private:
  Workers& workers_;
  bool kills_;
  int epoch_ = 0, count_ = 0;
};

void train() {
  const Cluster cluster = cluster_from_environment();
  const auto workers = connect_workers(cluster);
  const bool kills = workers->rank() == 2 && cluster.generation == 0;
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers, MultiWorkerOptions{.elastic = true});
  const auto scope = strategy->scope();
  set_random_seed(42);
  const std::string folder = "/usr/share/datasets/fashion-mnist/";
  const Tensor x = read_idx(folder + "train-images-idx3-ubyte.gz"), y = read_idx(folder + "train-labels-idx1-ubyte.gz");

  Sequential model({layers::rescaling({.scale = 1 / 255.0}), layers::flatten(),
                    layers::dense({.units = 512, .activation = "relu"}),
                    layers::dense({.units = 10, .activation = "softmax"})});
  model.compile({.optimizer = "rmsprop", .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  model.fit(
      x, y,
      {.batch_size = 128, .epochs = 3, .verbose = 0, .callbacks = {std::make_shared<Disturbance>(*workers, kills)}});
  const Tensor x_test = read_idx(folder + "t10k-images-idx3-ubyte.gz");
  const Tensor y_test = read_idx(folder + "t10k-labels-idx1-ubyte.gz");
  const Logs test = model.evaluate(x_test, y_test, {.batch_size = 128, .verbose = 0});
  if (strategy->is_chief()) std::printf("accuracy %.3f in %d processes\n", test["accuracy"], workers->count());
}

}  // namespace

int main() {
  try {
    train();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
