#include "etude/training/detail/step_function.hpp"

#include <algorithm>
#include <list>
#include <numeric>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/distribute/workers.hpp"
#include "etude/execution/eager.hpp"
#include "etude/execution/explain_passes.hpp"
#include "etude/graph/detail/node.hpp"
#include "etude/training/detail/index_ranges.hpp"

namespace etude {
namespace {

constexpr std::size_t kept_plans = 8;

std::vector<Tensor> tensors_of(const Batch& batch) {
  std::vector<Tensor> tensors;
  for_each_tensor(batch, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

/// The number of tensors of each kind, and the inputs that have a mask, as bits.
std::array<std::size_t, 4> counts_of(const Batch& batch) {
  std::size_t masked = 0;
  for (const Tensor& mask : batch.mask) masked = 2 * masked + (mask ? 1 : 0);
  return {batch.x.size(), batch.y.size(), batch.sample_weight.size(), masked};
}

/// The key of a plan: the number of tensors of each kind, their names, and their shapes and dtypes; and, if each
/// process has read its own rows, those of all of them, so that all processes trace at the same steps.
struct Key {
  std::array<std::size_t, 4> counts{};
  std::vector<std::pair<Shape, DType>> tensors;
  BatchNames names;
  std::vector<std::int64_t> worker_rows;

  explicit Key(const Batch& batch) : counts(counts_of(batch)), names(names_of(batch)) {
    if (has_device_libraries) worker_rows.assign(batch.worker_rows.begin(), batch.worker_rows.end());
    for_each_tensor(batch, [&](const Tensor& tensor) { tensors.emplace_back(tensor.shape(), tensor.dtype()); });
  }
  /// A batch with this key, of zeros.
  Batch batch() const {
    Batch result;
    auto tensor = tensors.begin();
    const auto next = [&] {
      const auto& [shape, dtype] = *tensor++;
      return Tensor(shape, dtype);
    };
    for (std::size_t i = 0; i < counts[0]; ++i) result.x.push_back(next());
    for (std::size_t i = 0; i < counts[1]; ++i) result.y.push_back(next());
    for (std::size_t i = 0; i < counts[2]; ++i) result.sample_weight.push_back(next());
    for (std::size_t i = counts[0]; counts[3] > 0 && i-- > 0;)
      result.mask.push_back(counts[3] >> i & 1 ? next() : Tensor());
    result.names = std::make_shared<BatchNames>(names);
    result.worker_rows = worker_rows;
    return result;
  }
  /// Allocates nothing, since every step calls it.
  bool fits(const Batch& batch) const {
    if (counts != counts_of(batch) || names != names_of(batch)) return false;
    if (has_device_libraries && !std::ranges::equal(worker_rows, batch.worker_rows)) return false;
    std::size_t i = 0;
    bool same = true;
    for_each_tensor(batch, [&](const Tensor& tensor) {
      same &= tensors[i].first == tensor.shape() && tensors[i].second == tensor.dtype();
      ++i;
    });
    return same;
  }
};

/// The logs of a plan's last step.
struct PlanLogs : LogSource {
  std::unique_ptr<ReplicatedPlan> plan;
  std::uint64_t ran = 0, computed = 0;

  std::uint64_t generation() const override { return ran == plan->plan().arena().generation ? ran : 0; }
  void compute() {
    if (computed != ran) plan->run_logs();
    computed = ran;
  }
  double read(std::size_t index) override {
    compute();
    return plan->log(index);
  }
};

}  // namespace

Logs fetched(const Logs& logs) {
  Logs result;
  for (const auto& [name, value] : logs.values()) result.set(name, value);
  return result;
}

struct StepFunction::Compiled {
  Key key;
  std::vector<std::string> names;
  std::shared_ptr<PlanLogs> source;
  int replicas;                                          // in all processes
  std::vector<std::vector<const std::byte*>> addresses;  // by replica of this process
  Logs logs;
  std::vector<Tensor> outputs;  // of an eager step
  IndexRanges ranges = {};
  std::weak_ptr<const Batch> checked = {};  // arrays whose rows are selected
};

StepFunction::StepFunction(Step step, Replicas replicas, StepFunctionOptions options)
    : step_(std::move(step)),
      replicas_(std::move(replicas)),
      options_(std::move(options)),
      arrays_(replicas_.strategy) {
  if (Workers* const workers = replicas_.strategy->others()) {
    step_ = with_common_logs(std::move(step_));
    changes_ = workers->changes();
  }
}
StepFunction::~StepFunction() = default;

void StepFunction::operator()(const Batch& batch) { replaced_ ? replaced_->run_on(*this, batch) : run(batch); }

void StepFunction::run(const Batch& batch) {
  prepare(batch);
  upload(batch);
  finish();
}

void StepFunction::upload(const Batch& batch, Purpose purpose) {
  result_.reset();
  if (options_.run_eagerly) return run_eagerly(batch, purpose);
  Compiled& compiled = *compiled_.front();
  check_ranges(batch, compiled, purpose);
  samples_ += batch.size();
  if (batch.selection.arrays)
    upload_rows(batch, compiled);
  else
    upload_host_memory(batch, compiled);
  if (compiled.source->plan->full()) finish();
}

/// Arrays whose rows devices select are checked once.
void StepFunction::check_ranges(const Batch& batch, Compiled& compiled, Purpose purpose) {
  const auto& arrays = batch.selection.arrays;
  if (!arrays) return compiled.ranges.check(batch, purpose);
  if (compiled.checked.lock() == arrays) return;
  Batch all = *arrays;
  all.numbers.first = std::max<std::int64_t>(all.numbers.first, 0);
  compiled.ranges.check(all, purpose);
  compiled.checked = arrays;
}

/// Where the shard of a replica of this process begins within a batch.
std::int64_t StepFunction::first_row(const Batch& batch, const Compiled& compiled, int replica) const {
  return compiled.replicas > 1 ? local_rows(batch, compiled.replicas, replica).begin : 0;
}

void StepFunction::upload_host_memory(const Batch& batch, Compiled& compiled) {
  for (int replica = 0; replica < static_cast<int>(compiled.addresses.size()); ++replica) {
    const std::int64_t first = first_row(batch, compiled, replica);
    std::size_t i = 0;
    for_each_tensor(batch, [&](const Tensor& tensor) {
      const std::int64_t offset = first ? first * (static_cast<std::int64_t>(tensor.bytes()) / batch.size()) : 0;
      compiled.addresses[static_cast<std::size_t>(replica)][i++] = tensor.raw() + offset;
    });
  }
  compiled.source->plan->upload(compiled.addresses);
}

void StepFunction::upload_rows(const Batch& batch, Compiled& compiled) {
  const int local = static_cast<int>(compiled.addresses.size());
  if (!arrays_.continues(batch, local)) finish();
  first_rows_.clear();
  for (int replica = 0; replica < local; ++replica) first_rows_.push_back(first_row(batch, compiled, replica));
  compiled.source->plan->upload(arrays_.upload(batch, first_rows_));
}

void StepFunction::select_on_devices(DataAdapter& data) const {
  const std::shared_ptr<const Batch> arrays = data.arrays();
  if (arrays && !options_.run_eagerly && arrays_.fit(*arrays)) data.select_rows();
}

void StepFunction::finish() {
  if (compiled_.empty() || !compiled_.front()->source) return;
  Compiled& compiled = *compiled_.front();
  if (!compiled.source->plan->run_uploaded()) return;
  compiled.source->ran = replicas_.arenas.front()->generation;
  compiled.logs.renew();
}

void StepFunction::abandon() {
  if (!replicas_.strategy->others()) return finish();
  if (!compiled_.empty() && compiled_.front()->source) compiled_.front()->source->plan->discard();
}

/// Every process computes a batch that has fewer rows than processes.
int StepFunction::replicas_for(const Batch& batch) const {
  if (has_device_libraries && !batch.worker_rows.empty()) return static_cast<int>(batch.worker_rows.size());
  const int most = replicas_.strategy->num_replicas_in_sync();
  if (replicas_.strategy->others()) return batch.size() < most ? 1 : most;
  return static_cast<int>(std::clamp<std::int64_t>(batch.size(), 1, most));
}

RowRange StepFunction::local_rows(const Batch& batch, int replicas, int replica) const {
  if (has_device_libraries && !batch.worker_rows.empty()) return {0, batch.size()};
  if (has_device_libraries && replicas > 1) replica += static_cast<int>(replicas_.strategy->first_local_replica());
  return rows_of(batch.size(), replicas, replica);
}

/// The shard of a batch that a replica of this process has.
Shard StepFunction::shard_of(const Batch& batch, int replicas, int replica) const {
  const RowRange rows = local_rows(batch, replicas, replica);
  std::int64_t all = batch.size();
  if (has_device_libraries && !batch.worker_rows.empty())
    all = std::accumulate(batch.worker_rows.begin(), batch.worker_rows.end(), std::int64_t{0});
  return {replicas, rows.end - rows.begin, all};
}

/// Plans are made for a number of processes. If it changed, a step that did not end is given up.
void StepFunction::forget_outdated_plans() {
  Workers* const workers = replicas_.strategy->others();
  if (workers && std::exchange(changes_, workers->changes()) != workers->changes()) compiled_.clear();
}

bool StepFunction::prepare(const Batch& batch) {
  if (options_.run_eagerly) return false;
  if (has_device_libraries) forget_outdated_plans();
  const auto found = std::ranges::find_if(compiled_, [&](const auto& compiled) { return compiled->key.fits(batch); });
  if (found == compiled_.begin() && found != compiled_.end()) return false;
  finish();  // keeps the order of the batches
  if (found != compiled_.end()) {
    std::rotate(compiled_.begin(), found, found + 1);
    return false;
  }
  auto fresh = trace(batch);
  if (compiled_.size() == kept_plans) compiled_.pop_back();
  compiled_.insert(compiled_.begin(), std::move(fresh));
  return true;
}

std::unique_ptr<StepFunction::Compiled> StepFunction::trace(const Batch& batch) {
  const Watcher::Span span(watcher(), "trace");
  const int replicas = replicas_for(batch);
  const int local = replicas_.strategy->others() ? 1 : replicas;
  const auto rows = [&](int replica) { return local_rows(batch, replicas, replica); };
  std::int64_t before = 0;  // rows that lower ranks have read
  if (has_device_libraries && !batch.worker_rows.empty()) {
    const auto lower = batch.worker_rows.first(replicas_.strategy->first_local_replica());
    before = std::accumulate(lower.begin(), lower.end(), std::int64_t{0});
  }
  std::list<TracedStep> traced;
  std::vector<const TracedStep*> of;  // by replica
  for (int replica = 0; replica < local; ++replica) {
    const Shard shard = shard_of(batch, replicas, replica);
    if (traced.empty() || traced.back().graph.shard().rows != shard.rows) {
      const Batch& own = replicas > 1 ? rows_of(batch, rows(replica)) : batch;
      const Graph& graph = traced.emplace_back(shard, replicas_.strategy->multiplies_halves(), own, step_).graph;
      ++traces_;
      note_variables(graph);
      if (options_.check_trace) {
        wait_for_next_millisecond();  // otherwise both traces may read the same time
        check_alike(traced.back(), TracedStep(shard, replicas_.strategy->multiplies_halves(), own, step_));
      }
      if (options_.after_trace) options_.after_trace(graph);
    }
    of.push_back(&traced.back());
  }

  std::vector<std::int64_t> first_rows;
  for (int replica = 0; replica < local; ++replica) first_rows.push_back(before + rows(replica).begin);
  std::vector<Plan> plans = compile_plans(*replicas_.strategy, first_rows, [&](const Replica& replica) {
    const auto index = static_cast<std::size_t>(replica.index);
    return Plan(of[index]->graph, of[index]->result.outputs, of[index]->logs(), replicas_.arenas[index], replica,
                options_.steps_per_execution);
  });
  auto compiled =
      std::make_unique<Compiled>(Compiled{Key(batch), {}, std::make_shared<PlanLogs>(), replicas, {}, {}, {}});
  const TracedStep& first = traced.front();
  for (const auto& [name, value] : first.result.logs) compiled->names.push_back(name);
  compiled->source->plan =
      std::make_unique<ReplicatedPlan>(std::move(plans), replicas_.strategy, first.graph, first.logs());
  compiled->addresses.assign(of.size(), std::vector<const std::byte*>(compiled->key.tensors.size()));
  compiled->logs.attach(compiled->source, compiled->names);
  compiled->ranges = IndexRanges(first.graph);
  return compiled;
}

std::string StepFunction::explain_passes() const {
  const Compiled& last = *compiled_.front();
  const Batch batch = last.key.batch();
  const Batch own = last.replicas > 1 ? rows_of(batch, local_rows(batch, last.replicas, 0)) : batch;
  const TracedStep traced(shard_of(batch, last.replicas, 0), replicas_.strategy->multiplies_halves(), own, step_);
  Wanted wanted;
  for (const Value& output : traced.result.outputs) wanted.results.push_back(output.id());
  for (const Value& log : traced.logs()) wanted.logs.push_back(log.id());
  return etude::explain_passes(traced.graph, wanted, replicas_.strategy->device());
}

void StepFunction::note_variables(const Graph& graph) {
  if (traced()) return;
  const auto note = [this](const Variable& variable) {
    if (std::ranges::find(variables_, variable) == variables_.end()) variables_.push_back(variable);
  };
  for (const Node& node : graph.nodes())
    if (const auto* read = std::get_if<op::Read>(&node.op)) note(read->variable);
  for (const Graph::Assignment& assignment : graph.assignments()) note(assignment.variable);
}

void StepFunction::rehearse(const Batch& example) {
  if (!options_.run_eagerly) {
    const int replicas = replicas_for(example);
    const RowRange rows = rows_of(example.size(), replicas, 0);
    const Shard shard{replicas, rows.end, example.size()};
    const Batch& own = replicas > 1 ? rows_of(example, rows) : example;
    return note_variables(TracedStep(shard, replicas_.strategy->multiplies_halves(), own, step_).graph);
  }
  Graph graph({}, replicas_.strategy->multiplies_halves());
  const Eager eager(graph, replicas_.strategy->device(), tensors_of(example));  // for a step that reads its Values
  const Trace trace(graph);
  step_(input_values(graph, example));
  note_variables(graph);
}

void StepFunction::run_eagerly(const Batch& batch, Purpose purpose) {
  if (has_device_libraries)
    check(batch.worker_rows.empty(), ErrorKind::state, "run_eagerly",
          "data of which each process has its own part - expected whole batches in every process - set "
          "auto_shard_policy to \"data\", or compile without run_eagerly.");
  Graph graph({}, replicas_.strategy->multiplies_halves());
  Eager eager(graph, replicas_.strategy->device(), tensors_of(batch));
  Trace trace(graph);
  const StepResult result = step_(input_values(graph, batch));
  ++traces_;
  note_variables(graph);
  IndexRanges(graph).check(batch, purpose);
  eager.commit();
  samples_ += batch.size();
  auto compiled = std::make_unique<Compiled>(Compiled{Key(batch), {}, nullptr, 1, {}, {}, {}});
  for (const auto& [name, value] : result.logs) compiled->logs.set(name, eager.value(value.id()).item());
  for (const Value& output : result.outputs) compiled->outputs.push_back(eager.value(output.id()));
  compiled_.clear();
  compiled_.push_back(std::move(compiled));
}

Logs& StepFunction::logs() {
  if (result_) return result_->logs;
  check(!compiled_.empty(), ErrorKind::state, "StepFunction",
        "logs before the first step - expected a batch - run the step first.");
  return compiled_.front()->logs;
}

PendingPtr StepFunction::fetch_results() {
  Device& device = replicas_.strategy->device();
  if (!device.reads_later()) return nullptr;
  std::vector<StorageRange> ranges;
  add_log_ranges(ranges);
  add_output_ranges(ranges);
  return ranges.empty() ? nullptr : device.fetch(ranges);
}

void StepFunction::add_log_ranges(std::vector<StorageRange>& ranges) {
  if (compiled_.empty()) return;
  PlanLogs* const last = compiled_.front()->source.get();
  if (!last || last->generation() == 0) return;
  last->compute();
  last->plan->add_log_ranges(ranges);
}

void StepFunction::add_output_ranges(std::vector<StorageRange>& ranges) const {
  if (plan()) compiled_.front()->source->plan->add_result_ranges(ranges);
}

void StepFunction::keep_logs() {
  if (compiled_.empty()) return;
  const Compiled& last = *compiled_.front();
  if (last.source && last.source->ran == replicas_.arenas.front()->generation) last.logs.values();
}

const Plan* StepFunction::plan() const {
  return compiled_.empty() || !compiled_.front()->source ? nullptr : &compiled_.front()->source->plan->plan();
}

std::size_t StepFunction::output_count() const {
  const auto* given = given_outputs();
  return given ? given->size() : plan() ? plan()->result_count() : 0;
}
Shape StepFunction::output_shape(std::size_t index) const {
  const auto* given = given_outputs();
  return given ? (*given)[index].shape() : compiled_.front()->source->plan->result_shape(index);
}
DType StepFunction::output_dtype(std::size_t index) const {
  const auto* given = given_outputs();
  return given ? (*given)[index].dtype() : plan()->result_dtype(index);
}
void StepFunction::read_output(std::size_t index, std::byte* out) const {
  const auto* given = given_outputs();
  if (!given) return compiled_.front()->source->plan->read_result(index, out);
  std::copy_n((*given)[index].raw(), (*given)[index].bytes(), out);
}

/// The outputs that are Tensors: those of a replaced execution, or of an eager step.
const std::vector<Tensor>* StepFunction::given_outputs() const {
  if (result_) return &result_->outputs;
  return plan() || compiled_.empty() ? nullptr : &compiled_.front()->outputs;
}

}  // namespace etude
