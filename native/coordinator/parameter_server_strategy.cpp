#include "etude/training/parameter_server_strategy.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <utility>

#include "coordinator/model_steps.hpp"
#include "coordinator/parts.hpp"
#include "etude/base/detail/clock.hpp"
#include "etude/training/detail/remote_steps.hpp"
#include "etude/training/detail/step_function.hpp"

namespace etude {
namespace {

using coordinator::metric_variables;
using coordinator::named_variables;

constexpr const char* where = "ParameterServerStrategy";
constexpr const char* optimizer_prefix = "optimizer/";
/// The most functions whose results are not added yet.
constexpr std::size_t most_pending = 1024;

/// Throws Error(value) for a model that parameter servers cannot train.
void check_trainable(const Model& model) {
  const Optimizer& optimizer = model.optimizer();
  check(!optimizer.scales_loss(), ErrorKind::value, where,
        "an optimizer that scales the loss - expected one without, since workers compute the loss - leave "
        "loss_scale_factor out, and compute in float32 or bfloat16.");
  check(optimizer.has_learning_rate(), ErrorKind::value, where, optimizer.name(),
        ", which consists of several optimizers - expected one for all variables - compile with one.");
  for (const Variable& variable : model.trainable_variables())
    check(!variable.constraint(), ErrorKind::value, where, "a constraint of \"", variable.name(),
          "\" - expected none, since servers update parts of variables - leave it out.");
}

/// The optimizer's variables by the names of ServerVariables::state().
std::vector<std::pair<std::string, Variable>> named_slots(Model& model) {
  std::vector<std::pair<std::string, Variable>> result;
  const auto add = [&](const std::string& prefix, const std::vector<Variable>& variables) {
    for (std::size_t i = 0; i < variables.size(); ++i)
      result.emplace_back(optimizer_prefix + prefix + std::to_string(i), variables[i]);
  };
  model.optimizer().build(model.trainable_variables());
  add("", coordinator::shared_variables(model.optimizer()));
  for (const auto& [name, variable] : named_variables(model)) add(name + '/', model.optimizer().slots_for(variable));
  return result;
}

/// The results of the model's metrics, now.
Logs results_of(Model& model) {
  Logs logs;
  const std::vector<MetricPtr> metrics = model.metrics();
  if (metrics.empty()) return logs;
  const std::vector<PerReplica> results = model.strategy()->run([&](std::span<const Value>) {
    std::vector<Value> values;
    for (const MetricPtr& metric : metrics) values.push_back(metric->result());
    return values;
  });
  const std::vector<std::string> names = model.metrics_names();
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const Tensor& result = results[i].front();
    if (result.shape().rank() == 0) logs.set(names[i], result.item());
    for (std::int64_t figure = 0; result.shape().rank() > 0 && figure < result.size(); ++figure)
      logs.set(names[i] + '_' + std::to_string(figure), result.at(figure));
  }
  return logs;
}

/// to + more, in to's dtype.
Tensor sum_of(const Tensor& to, const Tensor& more) {
  check(to.shape() == more.shape(), ErrorKind::state, where, "a metric of shape ", more.shape(),
        " in a worker - expected ", to.shape(), " - run the same program in all processes.");
  Tensor sum = to.astype(DType::float64);
  const Tensor added = more.astype(DType::float64);
  std::ranges::transform(sum.data<double>(), added.data<double>(), sum.data<double>().begin(), std::plus<>());
  return sum.astype(to.dtype());
}

}  // namespace

/// The part of the chief, which fit and evaluate call.
class ParameterServerStrategy::Steps final : public RemoteSteps {
 public:
  Steps(const ServerCluster& cluster, const ParameterServerOptions& options) : cluster_(cluster), options_(options) {}

  InputContext context() const override {
    return {.num_input_pipelines = std::ssize(cluster_.workers), .input_pipeline_id = 0};
  }
  PerWorkerDataset begin_pass(const DatasetCreator& creator) override { return {creator.name, ++passes_}; }

  Logs run(Model& model, Purpose purpose, const PerWorkerDataset& pass, std::int64_t steps) override {
    const bool trains = purpose == Purpose::training;
    check(!model_ || model_ == &model, ErrorKind::state, where,
          "another model - expected that of the first fit, which the other processes have - make a strategy for each "
          "model.");
    check_trainable(model);
    connect();
    send(model, trains);
    model_ = &model;
    schedule(model, trains ? "train" : "test", pass, steps);
    if (trains) receive(model);
    return results_of(model);
  }

 private:
  void connect() {
    if (coordinator_) return;
    check(!cluster_.servers.empty(), ErrorKind::value, where,
          "a cluster without parameter servers - expected at least one - add its address.");
    ServerProgram program;  // of names: other processes run them
    program.functions = {{"train", {}}, {"test", {}}};
    coordinator_.emplace(cluster_, std::move(program), options_.communication);
  }

  /// Sends the chief's variables to the servers, because callbacks may have changed them.
  void send(Model& model, bool trains) {
    ServerVariables& servers = coordinator_->variables();
    const auto variables = named_variables(model);
    NamedTensors values, fresh_trained, fresh;
    if (!model_)
      for (const auto& [name, value] : servers.pull()) created_.insert(name);  // by an earlier chief
    const std::vector<Variable> trained = model.trainable_variables();
    for (const auto& [name, variable] : variables) {
      values[name] = variable.value();
      if (created_.contains(name)) continue;
      const bool trainable = std::ranges::find(trained, variable) != trained.end();
      (trainable ? fresh_trained : fresh)[name] = values[name];
    }
    if (!fresh_trained.empty()) servers.create(fresh_trained, options_.variable_partitioner);
    if (!fresh.empty()) servers.create(fresh, options_.variable_partitioner, false);
    for (const auto& [name, variable] : variables) created_.insert(name);
    if (!trains) return servers.assign(values);
    for (const auto& [name, slot] : named_slots(model)) values[name] = slot.value();
    servers.restore(values);
  }

  /// Sets the model's variables, and those of its optimizer, to those of the servers.
  void receive(Model& model) {
    const NamedTensors state = coordinator_->variables().state();
    std::vector<std::pair<std::string, Variable>> all = named_variables(model), slots = named_slots(model);
    all.insert(all.end(), slots.begin(), slots.end());
    for (auto& [name, variable] : all) {
      const auto found = state.find(name);
      check(found != state.end() && found->second.shape() == variable.shape(), ErrorKind::value, where, "no \"", name,
            "\" of shape ", variable.shape(),
            " from the servers - expected one whose parts can be joined - use an "
            "optimizer whose slots are like their variables, or no variable_partitioner.");
      variable.assign(found->second);
    }
  }

  /// Runs the steps, and adds the workers' metrics to those of the model.
  void schedule(const Model& model, const std::string& function, const PerWorkerDataset& pass, std::int64_t steps) {
    std::vector<Variable> metrics = metric_variables(model);
    std::vector<Tensor> sums;
    for (const Variable& variable : metrics) sums.push_back(variable.value());
    std::deque<RemoteValue> pending;
    const auto add_first = [&] {
      const std::vector<Tensor> results = coordinator_->fetch(pending.front());
      pending.pop_front();
      check(sums.empty() ? results.empty() : results.size() % sums.size() == 0, ErrorKind::state, where, results.size(),
            " variables of metrics from a worker - expected ", sums.size(),
            " for each step - run the same program in all processes.");
      for (std::size_t i = 0; i < results.size(); ++i) {
        Tensor& sum = sums[i % sums.size()];
        sum = sum_of(sum, results[i]);
      }
    };
    const std::int64_t most = model.compile_options().steps_per_execution;
    const auto number = [](std::int64_t of) { return Tensor::from<double>({}, {static_cast<double>(of)}); };
    ++loops_;
    for (std::int64_t left = steps; left > 0; left -= most) {
      pending.push_back(coordinator_->schedule(function, {number(std::min(left, most)), number(loops_)}, {pass}));
      if (pending.size() <= most_pending) continue;
      try {
        add_first();
      } catch (const Error&) {
        coordinator_->join();  // awaits the other functions, and throws their first error
        throw;
      }
    }
    coordinator_->join();
    while (!pending.empty()) add_first();
    for (std::size_t i = 0; i < sums.size(); ++i) metrics[i].assign(sums[i]);
  }

  const ServerCluster& cluster_;
  const ParameterServerOptions& options_;
  std::optional<ClusterCoordinator> coordinator_;
  const Model* model_ = nullptr;
  std::set<std::string> created_;
  /// The numbers of passes and loops. They differ from those of an earlier chief, which workers may know.
  std::int64_t passes_ = wall_milliseconds(), loops_ = passes_;
};

ParameterServerStrategy::ParameterServerStrategy(ServerCluster cluster, ParameterServerOptions options)
    : cluster_(std::move(cluster)), options_(std::move(options)), device_(default_device()) {
  if (is_chief()) steps_ = std::make_unique<Steps>(cluster_, options_);
}

ParameterServerStrategy::~ParameterServerStrategy() = default;

bool ParameterServerStrategy::is_chief() const { return cluster_.task == "chief"; }

RemoteSteps* ParameterServerStrategy::remote_steps() { return steps_.get(); }

std::vector<Variable>* ParameterServerStrategy::given_variables() { return is_chief() ? nullptr : &given_; }

void ParameterServerStrategy::serve(Model& model, const std::vector<DatasetCreator>& datasets) {
  check(!is_chief(), ErrorKind::state, where,
        "serve() in the chief - expected fit() - call it in the other processes.");
  check(model.strategy().get() == this && model.compiled(), ErrorKind::state, where,
        "serve() with a model that is not compiled, or of another scope - expected a compiled model of this strategy - "
        "create and compile it within strategy->scope().");
  const Scope own = scope();
  ServerProgram program;
  for (const DatasetCreator& creator : datasets) {
    check(!creator.name.empty(), ErrorKind::value, where,
          "a DatasetCreator without a name - expected one, by which the chief selects it - set its name.");
    program.datasets[creator.name] = creator;
  }
  coordinator::ModelSteps steps(model, given_);
  program.functions["train"] = [&](WorkerContext& worker, const std::vector<Tensor>& arguments) {
    return steps.train(worker, arguments);
  };
  program.functions["test"] = [&](WorkerContext& worker, const std::vector<Tensor>& arguments) {
    return steps.test(worker, arguments);
  };
  program.optimizer = [&] { return OptimizerPtr(OptimizerPtr(), &model.optimizer()); };  // the model owns it
  /// The strategy would keep the variables, which keep the strategy.
  struct Release {
    std::vector<Variable>& variables;
    ~Release() { variables.clear(); }
  } const release{given_};
  run_server(cluster_, program, options_.communication);
}

}  // namespace etude
