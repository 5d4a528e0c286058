#include "etude/execution/plan.hpp"

#include "etude/base/denormals.hpp"
#include "etude/base/error.hpp"
#include "etude/execution/lowering.hpp"

namespace etude {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

std::string_view name_of(const Instruction& instruction) {
  constexpr std::string_view names[] = {
      "Elementwise", "Gemm",       "Convolution", "ConvolutionInput", "ConvolutionFilter",
      "MaxPool",     "PoolGather", "PoolScatter", "Reduce",           "ArgMax",
      "OneHot",      "Gather",     "ScatterAdd",  "Softmax",          "Crossentropy",
      "Transpose",   "Uniform",    "Copy",        "AllReduce",        "Scan"};
  static_assert(std::size(names) == std::variant_size_v<Instruction>);
  return names[instruction.index()];
}

void Arena::reserve(std::size_t bytes) {
  const std::size_t before = this->bytes();
  if (bytes <= before) return;
  storage_.reset();  // a device may have no room for both
  try {
    storage_ = device_.allocate(bytes);
  } catch (...) {
    if (before > 0) storage_ = device_.allocate(before);  // the plans there are go on
    throw;
  }
}

Plan::Plan(const Graph& graph, std::span<const Value> results, std::span<const Value> logs,
           std::shared_ptr<Arena> arena, const Replica& replica)
    : arena_(std::move(arena)) {
  for (const Value& log : logs)
    check(log.shape().size() == 1, ErrorKind::shape, "Logs", "a log of shape ", log.shape(),
          " - expected a scalar - take its mean.");
  const auto ids = [](std::span<const Value> values) {
    std::vector<NodeId> result;
    for (const Value& value : values) result.push_back(value.id());
    return result;
  };
  lowered_ = Lowering(graph, {.results = ids(results), .logs = ids(logs)}, arena_->device(), replica).lower();
  arena_->reserve(lowered_.arena_bytes);
  addresses_.resize(1 + lowered_.input_count + lowered_.storages.size());
  if (!device().reads_host_memory()) {
    input_bytes_.resize(lowered_.input_count);
    for (const Node& node : graph.nodes())
      if (const auto* input = std::get_if<op::Input>(&node.op))
        input_bytes_[static_cast<std::size_t>(input->index)] =
            static_cast<std::size_t>(input->shape.size()) * size_of(input->dtype);
    std::size_t bytes = 0;
    for (const std::size_t of_input : input_bytes_) bytes += aligned(of_input);
    batch_ = device().allocate(bytes);
  }
  for (std::size_t i = 0; i < lowered_.storages.size(); ++i)
    if (const auto& storage = lowered_.storages[i]; !device().reaches(*storage))
      mirrors_.push_back({1 + lowered_.input_count + i, storage, device().allocate(storage->bytes())});
}

/// Another plan may have made the arena grow, and storages know best where they are.
void Plan::bind() {
  addresses_[0] = arena_->address();
  for (std::size_t i = 0; i < lowered_.storages.size(); ++i)
    addresses_[1 + lowered_.input_count + i] = lowered_.storages[i]->address();
  for (const Mirror& mirror : mirrors_) {
    mirror.copy->copy(0, *mirror.of, mirror.of->bytes());
    addresses_[mirror.space] = mirror.copy->address();
  }
}

void Plan::bind_inputs(std::span<const std::byte* const> inputs) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (batch_) {
      batch_->write(offset, inputs[i], input_bytes_[i]);
      addresses_[1 + i] = batch_->address() + offset;
      offset += aligned(input_bytes_[i]);
    } else {
      // Inputs are only read: Addresses has one type for all spaces.
      addresses_[1 + i] = const_cast<std::byte*>(inputs[i]);
    }
  }
}

/// What the step has left in copies goes where it belongs.
void Plan::end() {
  for (const Mirror& mirror : mirrors_) mirror.of->copy(0, *mirror.copy, mirror.of->bytes());
}

void Plan::begin(std::span<const std::byte* const> inputs) {
  check(inputs.size() == lowered_.input_count, ErrorKind::internal, "Plan", inputs.size(), " inputs - expected ",
        lowered_.input_count, " - this is a defect of the library.");
  bind();
  bind_inputs(inputs);
  ++arena_->generation;
  next_ = 0;
}

void Plan::run(std::span<const std::byte* const> inputs) {
  begin(inputs);
  const FlushDenormals mode;
  device().replay([this] { device().run(lowered_.instructions, addresses_); }, addresses_, recording_);
  end();
}

const instruction::AllReduce* Plan::advance() {
  const FlushDenormals mode;
  while (next_ < lowered_.instructions.size()) {
    const Instruction& instruction = lowered_.instructions[next_++];
    if (const auto* join = std::get_if<instruction::AllReduce>(&instruction)) return join;
    std::visit([&](const auto& one) { device().run(one, addresses_); }, instruction);
  }
  return nullptr;
}

void Plan::run_logs() {
  const FlushDenormals mode;
  device().replay([this] { device().run(lowered_.log_instructions, addresses_); }, addresses_, log_recording_);
}

const Storage& Plan::storage_of(const Operand& operand) const {
  const auto space = static_cast<std::size_t>(operand.space);
  return space == 0 ? *arena_->storage() : *lowered_.storages[space - 1 - lowered_.input_count];
}

void Plan::read_result(std::size_t index, std::byte* out) const {
  const auto& [operand, shape] = lowered_.results[index];
  const std::size_t bytes = static_cast<std::size_t>(shape.size()) * size_of(operand.dtype);
  if (bytes == 0) return;  // an arena of nothing has no storage
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
  Graph graph;
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
