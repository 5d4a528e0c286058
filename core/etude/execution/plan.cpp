#include "etude/execution/plan.hpp"

#include <algorithm>
#include <functional>
#include <limits>

#include "etude/base/detail/alternatives.hpp"
#include "etude/base/detail/denormals.hpp"
#include "etude/base/error.hpp"
#include "etude/execution/compile.hpp"
#include "etude/graph/detail/node.hpp"

namespace etude {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

// The most batches that a device holds in advance. A recording of more steps would save nothing.
constexpr std::int64_t most_steps = 64;
constexpr std::size_t most_batch_bytes = std::size_t{256} << 20;
constexpr std::int64_t most_instructions = 4000;

/// The number of instructions that run, those of a loop's body once per step.
std::int64_t instructions_run(std::span<const Instruction> instructions) {
  std::int64_t count = 0;
  for (const Instruction& instruction : instructions) {
    const auto* scan = std::get_if<instruction::Scan>(&instruction);
    count += scan ? scan->steps * instructions_run(scan->body->instructions) : 1;
  }
  return count;
}

}  // namespace

bool is_all_reduce(const Instruction& instruction) {
  return std::holds_alternative<instruction::AllReduce>(instruction) ||
         std::holds_alternative<instruction::AwaitSums>(instruction);
}

std::string_view name_of(const Instruction& instruction) {
  static constexpr auto names = for_alternatives<Instruction>([]<class I>() { return struct_name<I>(); });
  return names[instruction.index()];
}

void Arena::reserve(std::size_t bytes) {
  const std::size_t before = this->bytes();
  if (bytes <= before) return;
  storage_.reset();  // device memory may not hold both
  try {
    storage_ = device_.allocate(bytes);
  } catch (...) {
    if (before > 0) storage_ = device_.allocate(before);  // existing plans remain usable
    throw;
  }
}

Plan::Plan(const Graph& graph, std::span<const Value> results, std::span<const Value> logs,
           std::shared_ptr<Arena> arena, const Replica& replica, std::int64_t steps)
    : arena_(std::move(arena)) {
  for (const Value& log : logs)
    check(log.shape().size() == 1, ErrorKind::shape, "Logs", "a log of shape ", log.shape(),
          " - expected a scalar - take its mean.");
  const auto ids = [](std::span<const Value> values) {
    std::vector<NodeId> result;
    for (const Value& value : values) result.push_back(value.id());
    return result;
  };
  lowered_ = compile(graph, {.results = ids(results), .logs = ids(logs)}, arena_->device(), replica);
  device().prepare(lowered_.instructions);
  device().prepare(lowered_.log_instructions);
  arena_->reserve(lowered_.arena_bytes);
  addresses_.resize(1 + lowered_.input_count + lowered_.storages.size());
  if (!device().reads_host_memory()) lay_out_batches(graph, steps);
  for (std::size_t i = 0; i < lowered_.storages.size(); ++i)
    if (const auto& storage = lowered_.storages[i]; !device().reaches(*storage))
      mirrors_.push_back({1 + lowered_.input_count + i, storage, device().allocate(storage->bytes())});
}

void Plan::lay_out_batches(const Graph& graph, std::int64_t steps) {
  places_.resize(lowered_.input_count);
  for (const Node& node : graph.nodes())
    if (const auto* input = std::get_if<op::Input>(&node.op))
      places_[static_cast<std::size_t>(input->index)] = {input->shape, input->dtype, 0};
  for (Place& place : places_) {
    place.offset = batch_bytes_;
    batch_bytes_ += aligned(static_cast<std::size_t>(place.shape.size()) * size_of(place.dtype));
  }
  const auto room = static_cast<std::int64_t>(most_batch_bytes / std::max<std::size_t>(batch_bytes_, 1));
  const std::int64_t few = most_instructions / std::max<std::int64_t>(instructions_run(lowered_.instructions), 1);
  steps_ = std::clamp<std::int64_t>(std::min({steps, room, few}), 1, most_steps);
  batches_ = device().allocate(static_cast<std::size_t>(steps_) * batch_bytes_);
  // The arrays from which batches are selected, and their order.
  addresses_.resize(addresses_.size() + places_.size() + 1);
}

void Plan::check_step(std::size_t inputs, std::int64_t step) const {
  check(inputs == lowered_.input_count && step < steps_, ErrorKind::internal, "Plan", inputs, " inputs for step ", step,
        " - expected ", lowered_.input_count, " for one of ", steps_, " steps - this is a defect of the library.");
}

void Plan::upload(std::span<const std::byte* const> inputs, std::int64_t step) {
  check_step(inputs.size(), step);
  if (!batches_) {
    // Inputs are only read: Addresses has one type for all spaces.
    for (std::size_t i = 0; i < inputs.size(); ++i) addresses_[1 + i] = const_cast<std::byte*>(inputs[i]);
    return;
  }
  const std::size_t batch = static_cast<std::size_t>(step) * batch_bytes_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Place& place = places_[i];
    batches_->write(batch + place.offset, inputs[i],
                    static_cast<std::size_t>(place.shape.size()) * size_of(place.dtype));
  }
  std::fill(addresses_.end() - std::ssize(places_) - 1, addresses_.end(), nullptr);
  selects_ = false;
}

void Plan::upload(const SelectedRows& rows, std::int64_t step) {
  check_step(rows.arrays.size(), step);
  const auto arrays = addresses_.end() - std::ssize(places_) - 1;
  std::ranges::transform(rows.arrays, arrays, [](const std::shared_ptr<Storage>& array) { return array->address(); });
  addresses_.back() = rows.order->address();
  selects_ = true;
  if (selection_.empty() || first_row_ != rows.first || batch_rows_ != rows.batch)
    prepare_selection(rows.first, rows.batch);
}

/// Reads the addresses of storages again: another plan may have enlarged the arena.
void Plan::begin() {
  addresses_[0] = arena_->address();
  for (std::size_t i = 0; i < lowered_.storages.size(); ++i)
    addresses_[1 + lowered_.input_count + i] = lowered_.storages[i]->address();
  for (const Mirror& mirror : mirrors_) {
    mirror.copy->copy(0, *mirror.of, mirror.of->bytes());
    addresses_[mirror.space] = mirror.copy->address();
  }
  ++arena_->generation;
  enter(0);
}

void Plan::enter(std::int64_t step) {
  next_ = 0;
  if (!batches_) return;
  std::byte* const batch = batches_->address() + static_cast<std::size_t>(step) * batch_bytes_;
  for (std::size_t i = 0; i < places_.size(); ++i) addresses_[1 + i] = batch + places_[i].offset;
}

/// Selects the batch of the current step from the arrays. The next step's batch follows it. A recording of this is
/// valid for all arrays at the same addresses, with any number of rows.
void Plan::prepare_selection(std::int64_t first_row, std::int64_t batch_rows) {
  using namespace instruction;
  first_row_ = first_row;
  batch_rows_ = batch_rows;
  selection_.clear();
  const auto order = static_cast<std::int32_t>(addresses_.size()) - 1;
  const auto arrays = order - static_cast<std::int32_t>(places_.size());
  const Operand position{order, 0, DType::int32};
  const auto first = static_cast<std::int64_t>(sizeof(std::int32_t)) * (1 + first_row_);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const auto& [shape, dtype, offset] = places_[i];
    const auto input = static_cast<std::int32_t>(i);
    if (shape.size() == 0) continue;  // an output without a target
    selection_.push_back(Gather{.count = shape[0],
                                .width = shape.size() / shape[0],
                                .rows = std::numeric_limits<std::int64_t>::max(),
                                .table = {arrays + input, 0, dtype},
                                .indices = {order, first, DType::int32},
                                .out = {1 + input, 0, dtype},
                                .first = position});
  }
  const Program add{.inputs = {{Lane::int32}},
                    .immediates = {{static_cast<double>(batch_rows_), Lane::int32}},
                    .steps = {{opcode_of<op::Add>(), Lane::int32, Lane::int32, 2, 0, 1, 1}},
                    .outputs = {{2}},
                    .registers = 3};
  const Segment one{.size = 1, .inputs = {{position}}, .outputs = {{position}}};
  selection_.push_back(Elementwise{.program = add, .segments = {one}});
  device().prepare(selection_);
}

/// Copies Values from device copies back to their storages.
void Plan::end() {
  for (const Mirror& mirror : mirrors_) mirror.of->copy(0, *mirror.copy, mirror.of->bytes());
}

void Plan::run(std::span<const std::byte* const> inputs) {
  upload(inputs);
  begin();
  while (advance()) {
  }
  end();
}

const Instruction* Plan::advance(std::unique_ptr<Device::Recording>* kept) {
  const std::span<const Instruction> left = std::span(lowered_.instructions).subspan(next_);
  const auto end = std::ranges::find_if(left, [](const Instruction& each) { return is_all_reduce(each); });
  const std::span<const Instruction> chunk(left.begin(), end);
  Watcher* const runner = this->runner();
  const auto run = [&](std::span<const Instruction> some) {
    if (runner)
      runner->run(*this, some);
    else
      device().run(some, addresses_);
  };
  const auto work = [&, first = next_ == 0] {
    const FlushDenormals mode;
    if (first && selects_) run(selection_);
    run(chunk);
  };
  const bool is_empty = chunk.empty() && !(next_ == 0 && selects_);
  next_ += chunk.size() + (end != left.end());
  if (kept && !is_empty && !runner)
    device().replay(std::ref(work), addresses_, *kept);
  else
    work();
  return end == left.end() ? nullptr : &*end;
}

void Plan::run_logs() {
  const FlushDenormals mode;
  device().replay([this] { device().run(lowered_.log_instructions, addresses_); }, addresses_, log_recording_);
}

const Storage& Plan::storage_of(const Operand& operand) const {
  const auto space = static_cast<std::size_t>(operand.space);
  return space == 0 ? *arena_->storage() : *lowered_.storages[space - 1 - lowered_.input_count];
}

void Plan::add_ranges(std::span<const Lowered::Result> results, std::vector<StorageRange>& ranges) const {
  for (const auto& [operand, shape] : results) {
    const std::size_t bytes = static_cast<std::size_t>(shape.size()) * size_of(operand.dtype);
    if (bytes > 0) ranges.push_back({&storage_of(operand), static_cast<std::size_t>(operand.offset), bytes});
  }
}

void Plan::read_result(std::size_t index, std::byte* out) const {
  const auto& [operand, shape] = lowered_.results[index];
  const std::size_t bytes = static_cast<std::size_t>(shape.size()) * size_of(operand.dtype);
  if (bytes == 0) return;  // an empty arena has no storage
  storage_of(operand).read(static_cast<std::size_t>(operand.offset), out, bytes);
}

Tensor Plan::result(std::size_t index) const {
  Tensor tensor(lowered_.results[index].shape, lowered_.results[index].operand.dtype);
  read_result(index, tensor.raw());
  return tensor;
}

double Plan::log(std::size_t index) const {
  const Operand& operand = lowered_.logs[index].operand;
  return visit_dtype(operand.dtype, [&]<class T>(T value) {
    storage_of(operand).read(static_cast<std::size_t>(operand.offset), &value, sizeof(T));
    return static_cast<double>(value);
  });
}

std::vector<Tensor> evaluate(Device& device, std::span<const Tensor> inputs,
                             const std::function<std::vector<Value>(std::span<const Value>)>& function) {
  Graph graph({}, device.multiplies_halves());
  std::vector<Value> results;
  {
    Trace trace(graph);
    std::vector<Value> values;
    for (const Tensor& input : inputs) values.push_back(graph.input(input.shape(), input.dtype()));
    results = function(values);
  }
  Plan plan(graph, results, {}, std::make_shared<Arena>(device));
  std::vector<const std::byte*> addresses;
  for (const Tensor& input : inputs) addresses.push_back(input.raw());
  plan.run(addresses);
  for (const Graph::Assignment& assignment : graph.assignments()) Variable(assignment.variable).broadcast();
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < plan.result_count(); ++i) tensors.push_back(plan.result(i));
  return tensors;
}

}  // namespace etude
