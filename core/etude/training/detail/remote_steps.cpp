#include "etude/training/detail/remote_steps.hpp"

#include "etude/base/error.hpp"
#include "etude/distribute/strategy.hpp"
#include "etude/training/options.hpp"

namespace etude {
namespace {

constexpr const char* where = "ParameterServerStrategy";

bool reads_after_batches(const Callback& callback, Purpose purpose) {
  if (purpose == Purpose::training) return callback.needs_each_execution();
  return callback.needs(Hook::test_batch_begin) != Needs::nothing ||
         callback.needs(Hook::test_batch_end) != Needs::nothing;
}

}  // namespace

RemoteAdapter::RemoteAdapter(const DatasetCreator& creator, std::optional<std::int64_t> steps, RemoteSteps& remote)
    : DatasetCreatorAdapter(creator, steps, remote.context()), creator_(creator), remote_(remote) {
  check(!creator.name.empty(), ErrorKind::value, where,
        "a DatasetCreator without a name - expected one, by which the workers know it - set its name, and pass it to "
        "serve() in them.");
}

Logs RemoteAdapter::run(Model& model, Purpose purpose, std::int64_t steps) {
  if (!pass_) pass_ = remote_.begin_pass(creator_);
  return remote_.run(model, purpose, *pass_, steps);
}

const Batch* RemoteAdapter::consume() {
  ++count_;
  return &counted_;
}

void RemoteAdapter::restore(const DataState& state) {
  check_state(state, 1, where);
  count_ = state[0];
  pass_.reset();
}

void check_remote_loop(int verbose, const std::vector<CallbackPtr>& callbacks, Purpose purpose) {
  check(verbose != 1, ErrorKind::value, where,
        "verbose = 1 - `verbose=1` is not allowed with `ParameterServerStrategy`, since the steps of an epoch are not "
        "awaited one by one - expected 0 or 2 - set verbose.");
  for (std::size_t i = 0; i < callbacks.size(); ++i)
    check(!callbacks[i] || !reads_after_batches(*callbacks[i], purpose), ErrorKind::value, where, "callback ", i,
          " reads something after each batch - Batch-level `Callback`s are not supported with "
          "`ParameterServerStrategy` - use the hooks of epochs, and override needs() of an own class: it returns "
          "Needs::nothing for hooks of batches.");
}

void check_trains(Strategy& strategy, const char* method) {
  check(!strategy.given_variables(), ErrorKind::state, method,
        "a worker or parameter server - expected the chief - call strategy->serve() in this process.");
}

void check_remote_fit(const FitOptions& options) {
  check_remote_loop(options.verbose, options.callbacks, Purpose::training);
  check(options.class_weight.empty(), ErrorKind::value, where,
        "a class_weight - expected none, since the workers read the data - let the dataset have sample weights.");
}

}  // namespace etude
