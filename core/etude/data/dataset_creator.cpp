#include "etude/data/dataset_creator.hpp"

#include "etude/base/error.hpp"

namespace etude {
namespace {

Dataset made(const DatasetCreator& creator, bool has_steps, const InputContext& context) {
  check(static_cast<bool>(creator.dataset_fn), ErrorKind::value, "DatasetCreator",
        "no function - expected a function that returns a Dataset - pass one.");
  check(has_steps, ErrorKind::value, "DatasetCreator",
        "no steps - When using a `DatasetCreator`, `steps_per_epoch`, `validation_steps` or `steps` argument must be "
        "provided - set the number of batches of an epoch.");
  return creator.dataset_fn(context);
}

}  // namespace

std::int64_t InputContext::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  check(global_batch_size % num_replicas_in_sync == 0, ErrorKind::value, "InputContext", "batches of ",
        global_batch_size, " for ", num_replicas_in_sync,
        " replicas - expected a multiple - choose another global_batch_size.");
  return global_batch_size / num_replicas_in_sync;
}

DatasetCreatorAdapter::DatasetCreatorAdapter(const DatasetCreator& creator, std::optional<std::int64_t> steps,
                                             const InputContext& context)
    : DatasetAdapter(made(creator, steps.has_value(), context), steps) {}

}  // namespace etude
