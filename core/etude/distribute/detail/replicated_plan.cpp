#include "etude/distribute/detail/replicated_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "etude/base/detail/device_libraries.hpp"
#include "etude/base/error.hpp"
#include "etude/base/threads.hpp"
#include "etude/distribute/workers.hpp"

namespace etude {
namespace {

using instruction::AllReduce;

/// The all-reduces of a plan, in order, without addresses.
std::vector<std::vector<ReplicaSum>> buckets_of(const Plan& plan, std::size_t replicas) {
  std::vector<std::vector<ReplicaSum>> buckets;
  for (const Instruction& instruction : plan.instructions())
    if (const auto* join = std::get_if<AllReduce>(&instruction)) {
      std::vector<ReplicaSum>& bucket = buckets.emplace_back();
      for (const AllReduce::Part& part : join->parts)
        bucket.push_back(
            {part.in.dtype, part.count, std::vector<const std::byte*>(replicas), std::vector<std::byte*>(replicas)});
    }
  return buckets;
}

bool alike(const std::vector<std::vector<ReplicaSum>>& a, const std::vector<std::vector<ReplicaSum>>& b) {
  const auto same = [](const ReplicaSum& one, const ReplicaSum& other) {
    return one.dtype == other.dtype && one.count == other.count;
  };
  return std::ranges::equal(a, b, [&](const auto& x, const auto& y) { return std::ranges::equal(x, y, same); });
}

/// A number for the batch of a plan, its all-reduces and its results: equal ones have equal numbers.
std::int64_t signature_of(const std::vector<std::vector<ReplicaSum>>& buckets, const Plan& plan, const Shard& shard) {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::uint64_t number) { hash = (hash ^ number) * 1099511628211U; };
  for (const auto& bucket : buckets) {
    mix(bucket.size());
    for (const ReplicaSum& value : bucket) {
      mix(static_cast<std::uint64_t>(value.dtype));
      mix(static_cast<std::uint64_t>(value.count));
    }
  }
  mix(plan.result_count());
  mix(static_cast<std::uint64_t>(shard.batch));
  return static_cast<std::int64_t>(hash);
}

/// With several processes: the buckets of rank 0, if this process chose others for its plan, because its shard has
/// another number of rows. All processes call it.
std::optional<Buckets> other_buckets(const Plan& plan, Strategy& strategy) {
  Workers* const workers = strategy.others();
  if (!workers) return {};
  // The numbers of the all-reduces, in the order of their starts; the last one of a bucket as -1 - number.
  std::vector<std::int64_t> own;
  for (const std::vector<int>& bucket : plan.buckets().all_reduces)
    for (const int& number : bucket) own.push_back(&number == &bucket.back() ? -1 - number : number);
  const std::vector<std::int64_t> sizes = workers->all_gather(std::ssize(own));
  if (std::ranges::any_of(sizes, [&](std::int64_t size) { return size != sizes.front(); }))
    return {};  // an error later
  std::vector<std::int64_t> first = own;
  workers->broadcast(std::as_writable_bytes(std::span(first)));
  if (first == own) return {};
  Buckets buckets{plan.buckets().bytes, {{}}};
  for (const std::int64_t number : first) {
    buckets.all_reduces.back().push_back(static_cast<int>(number < 0 ? -1 - number : number));
    if (number < 0) buckets.all_reduces.emplace_back();
  }
  buckets.all_reduces.pop_back();
  return buckets;
}

}  // namespace

std::vector<Plan> compile_plans(Strategy& strategy, std::span<const std::int64_t> first_rows,
                                const std::function<Plan(const Replica&)>& compile) {
  std::vector<Plan> plans;
  plans.push_back(compile({0, first_rows[0], Buckets{strategy.bucket_bytes()}}));
  if (has_device_libraries)
    if (const auto buckets = other_buckets(plans[0], strategy)) plans[0] = compile({0, first_rows[0], *buckets});
  for (std::size_t i = 1; i < first_rows.size(); ++i)
    plans.push_back(compile({static_cast<int>(i), first_rows[i], plans[0].buckets()}));
  return plans;
}

Replicas replicas_of(StrategyPtr strategy) {
  Replicas result{std::move(strategy), {}};
  for (int replica = 0; replica < result.strategy->num_local_replicas(); ++replica)
    result.arenas.push_back(std::make_shared<Arena>(result.strategy->device(replica)));
  return result;
}

ReplicatedPlan::ReplicatedPlan(std::vector<Plan> plans, StrategyPtr strategy, const Graph& graph,
                               std::span<const Value> logs)
    : plans_(std::move(plans)), strategy_(std::move(strategy)), current_(plans_.size()) {
  for (std::size_t i = 0; i < logs.size(); ++i)
    if (graph.varies(logs[i].id())) varying_logs_.push_back(i);
  steps_ = std::ranges::min_element(plans_, {}, &Plan::steps)->steps();
  if (graph.shard().replicas < strategy_->num_replicas_in_sync())
    for (const Graph::Assignment& assignment : graph.assignments()) assigned_.push_back(assignment.variable);
  buckets_ = buckets_of(plans_.front(), plans_.size());
  for (std::size_t i = 1; i < plans_.size(); ++i)
    check(alike(buckets_, buckets_of(plans_[i], plans_.size())), ErrorKind::state, strategy_->name(),
          "replica 0 all-reduces other Values than replica ", i,
          " - expected the same all-reduces, of the same shapes, for any number of rows - all-reduce sums over "
          "rows, not rows.");
  if (Workers* const workers = strategy_->others()) agree(*workers, graph);
  recordings_.resize(static_cast<std::size_t>(steps_));
  on_host_ = std::ranges::all_of(plans_, [](const Plan& plan) { return plan.device().reads_host_memory(); });
  if (on_host_ || replays_steps()) return;
  for (const Plan& plan : plans_) {
    const auto all_reduces = std::ranges::count_if(plan.instructions(), is_all_reduce);
    chunks_.emplace_back(static_cast<std::size_t>(steps_ * (all_reduces + 1)));
  }
}

/// Compares the plans of all processes, so that none waits for an all-reduce that others do not have. Learns how many
/// steps all of them can run at a time, and how many rows of each result they have.
void ReplicatedPlan::agree(Workers& workers, const Graph& graph) {
  const std::vector<std::int64_t> signatures = workers.all_gather(signature_of(buckets_, plan(), graph.shard()));
  for (std::size_t rank = 1; rank < signatures.size(); ++rank)
    check(signatures[rank] == signatures.front(), ErrorKind::state, strategy_->name(),
          "rank 0 has another batch, or all-reduces other Values, than rank ", rank,
          " - expected the same program, data and WorkerOptions in all processes, and the same all-reduces for any "
          "number of rows - all-reduce sums over rows, not rows.");
  steps_ = std::ranges::min(workers.all_gather(steps_));  // devices differ in how many batches they hold
  check(varying_logs_.empty(), ErrorKind::internal, strategy_->name(),
        "a log that differs between processes - expected logs that are all-reduced - this is a defect of the library.");
  if (graph.shard().replicas == 1) return;  // each process computes all rows
  for (std::size_t i = 0; i < plan().result_count(); ++i) {
    const Shape& shape = plan().result_shape(i);
    worker_rows_.push_back(workers.all_gather(shape.rank() > 0 ? shape[0] : 0));
  }
}

void ReplicatedPlan::run(std::span<const std::vector<const std::byte*>> inputs) {
  upload(inputs);
  run_uploaded();
}

void ReplicatedPlan::upload(std::span<const std::vector<const std::byte*>> inputs) {
  for (std::size_t i = 0; i < plans_.size(); ++i) plans_[i].upload(inputs[i], uploaded_);
  ++uploaded_;
}

void ReplicatedPlan::upload(std::span<const SelectedRows> rows) {
  for (std::size_t i = 0; i < plans_.size(); ++i) plans_[i].upload(rows[i], uploaded_);
  ++uploaded_;
}

bool ReplicatedPlan::run_uploaded() {
  if (uploaded_ == 0) return false;
  const std::int64_t steps = std::exchange(uploaded_, 0);
  const Watcher::Span span(plan().arena().watcher, "run");
  for (Plan& plan : plans_) plan.begin();
  if (replays_steps() && !plan().runner()) {
    addresses_.clear();
    for (const Plan& plan : plans_)
      addresses_.insert(addresses_.end(), plan.addresses().begin(), plan.addresses().end());
    plan().device().replay([&] { run_steps(steps); }, addresses_, recordings_[static_cast<std::size_t>(steps - 1)]);
  } else {
    run_steps(steps);
  }
  for (Plan& plan : plans_) plan.end();
  share_assigned();
  return true;
}

/// Gives the variables that the step assigned to the replicas that had no shard. Processes without one computed the
/// step themselves, but perhaps on other hardware, and get the bits of rank 0.
void ReplicatedPlan::share_assigned() {
  Workers* const workers = assigned_.empty() ? nullptr : strategy_->others();
  for (Variable& variable : assigned_) {
    if (!workers) {
      variable.broadcast(replicas());
      continue;
    }
    Tensor value = variable.value();
    workers->broadcast({value.raw(), value.bytes()});
    variable.assign(value);
  }
}

/// Whether its device may replay whole steps: none needs the host, or another device, to all-reduce.
bool ReplicatedPlan::replays_steps() const {
  return (replicas() == 1 && buckets_.empty()) || strategy_->all_reduces_on_device();
}

void ReplicatedPlan::run_steps(std::int64_t steps) {
  try {
    for (std::int64_t step = 0; step < steps; ++step) run_step(step);
  } catch (...) {
    await_all();  // so that nothing uses the memory of a plan that is released now
    throw;
  }
}

void ReplicatedPlan::run_step(std::int64_t step) {
  for (Plan& plan : plans_) plan.enter(step);
  next_chunks_.clear();
  for (const auto& chunks : chunks_)
    next_chunks_.push_back(static_cast<std::size_t>(step) * chunks.size() / static_cast<std::size_t>(steps_));
  for (auto bucket = buckets_.begin(); advance(); ++bucket) join(*bucket);
  started_ = 0;
}

/// Runs each replica to its next all-reduce; false if all are at their ends. On GPUs the work is enqueued, one replica
/// after the other.
bool ReplicatedPlan::advance() {
  if (!on_host_) {
    for (std::size_t i = 0; i < plans_.size(); ++i) current_[i] = advance(i);
    return current_.front() != nullptr;
  }
  thread_pool().run(
      replicas(),
      [](void* given, int replica) {
        auto& self = *static_cast<ReplicatedPlan*>(given);
        self.current_[static_cast<std::size_t>(replica)] = self.advance(static_cast<std::size_t>(replica));
      },
      this);
  return current_.front() != nullptr;
}

const Instruction* ReplicatedPlan::advance(std::size_t replica) {
  Plan& plan = plans_[replica];
  while (const Instruction* join = plan.advance(next_chunk(replica))) {
    if (std::holds_alternative<AllReduce>(*join)) return join;
    if (!has_device_libraries) continue;  // only their collectives must be awaited
    const int number = std::get<instruction::AwaitSums>(*join).number;
    if (number >= started_) continue;  // join() has completed it
    const Watcher::Span span(plan.arena().watcher, plan, *join);
    strategy_->await_all_reduce(number, replica);
  }
  return nullptr;
}

/// The recording of the work up to the next all-reduce, if a GPU all-reduces with other GPUs or processes. Only such
/// work is replayed: if recordings contained all-reduces, GPUs might wait for each other.
std::unique_ptr<Device::Recording>* ReplicatedPlan::next_chunk(std::size_t replica) {
  return chunks_.empty() ? nullptr : &chunks_[replica][next_chunks_[replica]++];
}

void ReplicatedPlan::join(std::vector<ReplicaSum>& bucket) {
  for (std::size_t i = 0; i < bucket.size(); ++i)
    for (std::size_t replica = 0; replica < plans_.size(); ++replica) {
      const AllReduce::Part& part = std::get<AllReduce>(*current_[replica]).parts[i];
      bucket[i].parts[replica] = plans_[replica].address(part.in);
      bucket[i].sums[replica] = plans_[replica].address(part.out);
    }
  const Watcher::Span span(plan().arena().watcher, plan(), *current_.front());
  const int number = std::get<AllReduce>(*current_.front()).number;
  // The last sum of a step on the host is computed here: nothing is left to compute beside it, and a sum on another
  // thread takes longer.
  if (!has_device_libraries || number < 0 || (on_host_ && number + 1 == std::ssize(buckets_))) {
    strategy_->all_reduce(bucket);
  } else {
    started_ = number + 1;
    strategy_->start_all_reduce(bucket, number);
  }
}

/// After an error: awaits the started work of this step.
void ReplicatedPlan::await_all() noexcept {
  if (!has_device_libraries) return;
  for (int number = 0; number < started_; ++number)
    for (std::size_t replica = 0; replica < plans_.size(); ++replica) {
      try {
        strategy_->await_all_reduce(number, replica);
      } catch (const Error&) {  // the first error is reported
      }
    }
  started_ = 0;
}

void ReplicatedPlan::run_logs() {
  const int count = varying_logs_.empty() ? 1 : replicas();
  for (int replica = 0; replica < count; ++replica) plan(replica).run_logs();
}

void ReplicatedPlan::add_log_ranges(std::vector<StorageRange>& ranges) const {
  for (const Plan& plan : plans_) plan.add_log_ranges(ranges);
}

void ReplicatedPlan::add_result_ranges(std::vector<StorageRange>& ranges) const {
  for (const Plan& plan : plans_) plan.add_result_ranges(ranges);
}

double ReplicatedPlan::log(std::size_t index) const {
  if (std::ranges::find(varying_logs_, index) == varying_logs_.end()) return plans_.front().log(index);
  double sum = 0;
  for (const Plan& plan : plans_) sum += plan.log(index);
  return sum / static_cast<double>(plans_.size());
}

Shape ReplicatedPlan::result_shape(std::size_t index) const {
  Shape shape = plans_.front().result_shape(index);
  if (has_device_libraries && shape.rank() > 0 && !worker_rows_.empty()) {
    shape[0] = std::accumulate(worker_rows_[index].begin(), worker_rows_[index].end(), std::int64_t{0});
    return shape;
  }
  if (shape.rank() > 0)
    for (int replica = 1; replica < replicas(); ++replica) shape[0] += plan(replica).result_shape(index)[0];
  return shape;
}

void ReplicatedPlan::read_result(std::size_t index, std::byte* out) const {
  if (has_device_libraries && !worker_rows_.empty() && plan().result_shape(index).rank() > 0) {
    const Tensor own = plan().result(index);
    std::vector<std::size_t> sizes;
    for (const std::int64_t rows : worker_rows_[index])
      sizes.push_back(own.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(own.shape()[0], 1)) *
                      static_cast<std::size_t>(rows));
    return strategy_->others()->all_gather({own.raw(), own.bytes()}, sizes, out);
  }
  for (const Plan& plan : plans_) {
    plan.read_result(index, out);
    const Shape& shape = plan.result_shape(index);
    if (shape.rank() == 0) return;
    out += static_cast<std::size_t>(shape.size()) * size_of(plan.result_dtype(index));
  }
}

}  // namespace etude
