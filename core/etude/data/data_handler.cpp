#include "etude/data/data_handler.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "etude/base/detail/checked.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/base/messages.hpp"

namespace etude {
namespace {

/// The words of a warning, by Purpose: the data, the process that the end of the data interrupts, and the option that
/// sets the number of batches.
struct PurposeWords {
  const char *data, *interrupted, *option;
};
constexpr PurposeWords words[] = {{"input", "training", "steps_per_epoch * epochs"},
                                  {"validation input", "validation", "validation_steps"},
                                  {"input", "evaluation", "steps"},
                                  {"input", "prediction", "steps"}};

void check_positive(const char* name, std::int64_t value) {
  check(value > 0, ErrorKind::value, "data", name, ' ', value, " - expected 1 or more - pass a positive number.");
}

void check_any_batch(bool any) {
  check(any, ErrorKind::data, "data",
        "no batch at all - expected at least one - check the data; replace an exhausted generator by a new one.");
}

}  // namespace

DataHandler::DataHandler(std::unique_ptr<DataAdapter> adapter, DataHandlerOptions options)
    : adapter_(std::move(adapter)), options_(std::move(options)), steps_per_execution_(options_.steps_per_execution) {
  check(adapter_ != nullptr, ErrorKind::value, "data", "missing data - expected x, or x and y - pass x (and y).");
  check_positive("steps_per_execution", steps_per_execution_);
  if (endless()) {
    print_warning(
        options_.warn,
        spelled("The training loop will run indefinitely since you have set {.steps_per_epoch = -1}. Please use "
                "batch-level callbacks to save checkpoints or log training progress, etc"));
    return;
  }
  if (options_.steps_per_epoch) check_positive("steps_per_epoch", *options_.steps_per_epoch);
  check(
      options_.steps_per_epoch || !adapter_->infinite(), ErrorKind::value, "data",
      "data without end and no steps_per_epoch - When passing an infinitely repeating dataset, please specify a "
      "`steps_per_epoch` value so that epoch level callbacks continue to work - it can be arbitrary, or what you think "
      "is the size of an epoch.");
  inferred_steps_ = options_.steps_per_epoch ? options_.steps_per_epoch : adapter_->size();
  check_any_batch(inferred_steps_ != 0 || options_.purpose == Purpose::prediction);  // predict reports it itself
}

DataHandler::Epochs DataHandler::enumerate_epochs() {
  if (restored_) {
    if (consumed_in_epoch_ == 0) enter_epoch();
    return Epochs(*this);
  }
  epoch_ = pass_ = options_.initial_epoch;
  began_ = began_ || consumed_ > 0;
  consumed_ = 0;
  insufficient_ = false;
  if (more_epochs()) {
    begin_pass();
    enter_epoch();
  }
  return Epochs(*this);
}

void DataHandler::enter_epoch() {
  consumed_in_epoch_ = 0;
  stopped_ = epoch_over_ = false;
  if (adapter_->passes() == Passes::each_epoch && pass_ <= epoch_) begin_pass();
}

void DataHandler::leave_epoch() {
  adapter_->on_epoch_end();
  ++epoch_;
  restored_ = false;
  if (more_epochs()) enter_epoch();
}

void DataHandler::begin_pass() {
  adapter_->begin_epoch(pass_++);
  left_in_pass_ = adapter_->size().value_or(0);
}

DataHandler::Steps DataHandler::steps() {
  step_ = std::exchange(restored_, false) ? consumed_in_epoch_ : 0;
  certain_ = inferred_steps_ && inferred_steps_ == adapter_->size() && adapter_->passes() != Passes::one;
  enter_step();
  return Steps(*this);
}

void DataHandler::enter_step() {
  // The last execution is shorter, which also limits N to the steps of a short epoch (L-12, L-13).
  const std::int64_t left = inferred_steps_ ? *inferred_steps_ - step_ : steps_per_execution_;
  step_increment_ = std::min(steps_per_execution_, left) - 1;
}

PendingPtr DataHandler::fetch() {
  // Arrays are one stream of as many passes as there are epochs, for any length of the epochs (L-18).
  if (adapter_->passes() == Passes::stream && left_in_pass_ == 0 && (endless() || pass_ < options_.epochs))
    begin_pass();
  return adapter_->fetch();
}

const Batch* DataHandler::consume() {
  const Batch* batch = adapter_->consume();
  if (batch) {
    ++consumed_;
    ++consumed_in_epoch_;
    if (left_in_pass_ > 0) --left_in_pass_;
  }
  return batch;
}

void DataHandler::stop_iteration() {
  check_any_batch(consumed_ > 0 || (began_ && options_.may_be_exhausted));
  stopped_ = true;
  step_increment_ = consumed_in_epoch_ - step_ - 1;
  if (!inferred_steps_) {
    inferred_steps_ = consumed_in_epoch_;
    return;
  }
  insufficient_ = true;
  if (std::exchange(warned_, true)) return;
  const std::int64_t wanted = checked::multiply_or_most(options_.epochs - options_.initial_epoch, *inferred_steps_);
  const auto& [data, interrupted, option] = words[static_cast<std::size_t>(options_.purpose)];
  print_warning(options_.warn, std::string("Your ") + data + " ran out of data; interrupting " + interrupted +
                                   ". Make sure that your dataset or generator can generate at least `" +
                                   spelled(option) + "` batches (in this case, " + std::to_string(wanted) +
                                   " batches). You may need to use the repeat() function when building your dataset.");
}

void DataHandler::continue_from(const DataState& state) {
  adapter_->restore(state);
  began_ = true;
}

DataState DataHandler::state(bool epoch_over) const {
  DataState state{epoch_over ? epoch_ + 1 : epoch_,
                  epoch_over ? 0 : consumed_in_epoch_,
                  pass_,
                  left_in_pass_,
                  consumed_,
                  inferred_steps_ ? checked::add_or_most(*inferred_steps_, 1) : 0};
  const DataState adapter = adapter_->state();
  state.insert(state.end(), adapter.begin(), adapter.end());
  return state;
}

void DataHandler::restore(const DataState& state) {
  constexpr std::ptrdiff_t own = 6;
  check(std::ssize(state) > own, ErrorKind::value, "data", "a state of ", state.size(),
        " numbers - expected the result of state() - restore it into data of the same kind.");
  check_state({state.begin(), state.begin() + own}, own, "data");
  adapter_->restore({state.begin() + own, state.end()});
  epoch_ = static_cast<int>(state[0]);
  consumed_in_epoch_ = state[1];
  pass_ = static_cast<int>(state[2]);
  left_in_pass_ = state[3];
  consumed_ = state[4];
  // The number of steps was inferred in an earlier pass, if it is not known otherwise.
  if (!inferred_steps_ && state[5] > 0) inferred_steps_ = state[5] - 1;
  stopped_ = epoch_over_ = insufficient_ = false;
  restored_ = true;
}

}  // namespace etude
