#pragma once

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <csignal>
#include <etude/etude.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gloo/membership_server.hpp"
#include "processes.hpp"
#include "scratch_folder.hpp"
#include "shared_memory.hpp"

/// A training whose processes may leave and join, and the same one without disturbances.
namespace etude::testing {

constexpr int epochs = 4, steps_per_epoch = 5, moments_per_epoch = steps_per_epoch + 1;

/// Counts the steps of a training, also over restarts.
class Steps : public Callback {
 public:
  explicit Steps(std::function<void(int steps)> after_step, std::function<void(int epoch)> after_epoch = {})
      : after_step_(std::move(after_step)), after_epoch_(std::move(after_epoch)) {}
  void on_train_batch_end(std::int64_t, Logs&) override { after_step_(++steps_); }
  void on_epoch_end(int epoch, Logs&) override {
    if (after_epoch_) after_epoch_(epoch);
  }
  CallbackState state() const override {
    CallbackState state("Steps");
    state.set("steps", steps_);
    return state;
  }
  void restore(const CallbackState& state) override { steps_ = static_cast<int>(state.number("steps")); }

 private:
  std::function<void(int)> after_step_, after_epoch_;
  int steps_ = 0;
};

/// The number of processes at each moment of a training: after each step, and after each epoch.
class SharedSizes {
 public:
  std::shared_ptr<Callback> recorder(const std::shared_ptr<Workers>& workers, std::function<void(int)> after_step) {
    const auto record = [this, workers](int moment) { sizes_[static_cast<std::size_t>(moment)].set(workers->count()); };
    return std::make_shared<Steps>(
        [record, after_step = std::move(after_step)](int steps) {
          record(moment_after(steps));
          if (after_step) after_step(steps);
        },
        [record](int epoch) { record(epoch * moments_per_epoch + steps_per_epoch); });
  }
  int after_step(int steps) const { return sizes_[static_cast<std::size_t>(moment_after(steps))].get(); }
  std::vector<int> all() const {
    std::vector<int> sizes;
    for (const Shared<int>& each : sizes_) sizes.push_back(each.get());
    return sizes;
  }

 private:
  static int moment_after(int steps) {
    return (steps - 1) / steps_per_epoch * moments_per_epoch + (steps - 1) % steps_per_epoch;
  }

  std::array<Shared<int>, epochs * moments_per_epoch> sizes_;
};

/// Trains a small model, and returns the bits of its weights and of its history.
inline std::string train_model(const std::shared_ptr<Workers>& workers, bool elastic,
                               std::vector<CallbackPtr> callbacks, int until_epoch = epochs, std::uint64_t seed = 3) {
  set_random_seed(seed);
  const auto strategy = std::make_shared<MultiWorkerMirroredStrategy>(workers, MultiWorkerOptions{.elastic = elastic});
  const auto scope = strategy->scope();
  Sequential model({layers::dense({.units = 6, .activation = "tanh"}), layers::batch_normalization(),
                    layers::dropout({.rate = 0.2}), layers::dense({.units = 1})});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
  constexpr std::size_t rows = 23;
  Tensor x({rows, 3}), y({rows, 1});
  for (std::size_t i = 0; i < 3 * rows; ++i) x.data<float>()[i] = std::sin(0.7F * static_cast<float>(i));
  for (std::size_t i = 0; i < rows; ++i) y.data<float>()[i] = std::cos(static_cast<float>(i));
  const HistoryPtr history = model.fit(x, y,
                                       {.batch_size = 5,
                                        .epochs = until_epoch,
                                        .verbose = 0,
                                        .callbacks = std::move(callbacks),
                                        .validation_data = Data(x.rows(0, 9), y.rows(0, 9))});
  std::string bits;
  for (const Tensor& weight : model.get_weights()) bits += bytes_of(weight.raw(), weight.bytes());
  for (const auto& [name, values] : history->history())
    bits += name + bytes_of(values.data(), values.size() * sizeof(double));
  return bits;
}

/// The result of a training with these numbers of processes, one after the other, each with processes that stay and
/// that continue from a checkpoint.
inline const std::string& undisturbed(const std::vector<int>& sizes) {
  static std::map<std::vector<int>, std::string> known;
  REQUIRE(std::ranges::find(sizes, 0) == sizes.end());
  std::string& result = known[sizes];
  if (!result.empty()) return result;
  const ScratchFolder scratch("etude-undisturbed-", ScratchFolder::memory);
  for (auto begin = sizes.begin(); begin != sizes.end();) {
    const auto end = std::find_if(begin, sizes.end(), [&](int size) { return size != *begin; });
    const int last = static_cast<int>(end - sizes.begin()) - 1, epoch = last / moments_per_epoch,
              step = last % moments_per_epoch;
    const bool whole_epochs = step == steps_per_epoch;
    const Reports reports = run_workers(*begin, [&](const std::shared_ptr<Workers>& workers) {
      std::shared_ptr<Callback> stop;
      stop = std::make_shared<Steps>([&](int steps) {
        if (!whole_epochs && steps == epoch * steps_per_epoch + step + 1) stop->model().stop_training = true;
      });
      return train_model(
          workers, false,
          {stop, callbacks::backup_and_restore({.backup_dir = scratch.path() + "/c", .delete_checkpoint = false})},
          whole_epochs ? epoch + 1 : epochs);
    });
    for (const std::string& report : reports) REQUIRE((report == reports.front() && !report.starts_with("error")));
    result = reports.front();
    begin = end;
  }
  return result;
}

/// A membership server, in a process of its own.
class MembershipProcess {
 public:
  explicit MembershipProcess(int size) {
    std::string reason;
    sockets::Socket listening = sockets::listen_at({"127.0.0.1", "0"}, reason);
    address_ = "127.0.0.1:" + std::to_string(sockets::port_of(listening));
    process_ = ::fork();
    if (process_ == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (process_ == 0)
      MembershipServer(std::move(listening), {.size = size, .removed = [](pid_t silent) { ::kill(silent, SIGKILL); }})
          .serve();
  }
  ~MembershipProcess() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  MembershipProcess(const MembershipProcess&) = delete;
  MembershipProcess& operator=(const MembershipProcess&) = delete;

  std::shared_ptr<Workers> connect(int rank, int size,
                                   WorkerOptions options = {.timeout = std::chrono::seconds(20)}) const {
    options.connect_timeout = std::chrono::seconds(20);
    options.bytes_per_pack = packs_of_tests;
    return connect_workers({.rank = rank, .size = size, .membership = address_}, options);
  }
  const std::string& address() const { return address_; }

 private:
  std::string address_;
  pid_t process_ = -1;
};

}  // namespace etude::testing
