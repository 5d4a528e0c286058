/// Functions in JavaScript that replace the executions of loops. web/src/execution.ts has their interface.
#include "bind.hpp"
#include "data.hpp"
#include "user_functions.hpp"

namespace etude::js {
namespace {

/// An execution while it runs. JavaScript identifies it by a number, and awaits its tasks before the execution ends.
class Running {
 public:
  Running(StepFunction& function, BatchIterator& batches) : id_(++last_), function_(function), batches_(batches) {
    running_.emplace(id_, this);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() { running_.erase(id_); }

  double id() const { return id_; }
  /// Takes the next batch. False if there is none.
  Task<bool> next() {
    batch_ = co_await batches_.next();
    co_return batch_ != nullptr;
  }
  /// Null if there is none.
  const Batch* batch() const { return batch_; }
  /// The default execution, on other batches if `iterator` is one.
  Task<bool> run(val iterator);
  const ExecutionResult& result() const { return result_; }

  static Running& of(double id) {
    const auto found = running_.find(id);
    check(found != running_.end(), ErrorKind::state, "trainFunction",
          "batches after their execution - expected a call within it - await the steps before the function returns.");
    return *found->second;
  }

 private:
  static inline std::map<double, Running*> running_;
  static inline double last_ = 0;
  double id_;
  StepFunction& function_;
  BatchIterator& batches_;
  const Batch* batch_ = nullptr;
  ExecutionResult result_;
};

/// Batches of a JavaScript iterator. `true` stands for the batch of the execution that was taken last.
class GivenBatches : public BatchIterator {
 public:
  GivenBatches(const val& iterator, const Running& running) : items_(iterator), running_(running) {}
  Task<const Batch*> next() override {
    PendingPtr pending = items_.fetch();
    co_await std::move(pending);
    const val item = items_.consume();
    if (item.isNull()) co_return nullptr;
    if (item.isTrue()) co_return running_.batch();
    batch_ = from_js<Batch>(item, {"trainFunction", "a batch"});
    check_cardinality(batch_, "trainFunction");
    cast_to_floatx(batch_);
    co_return &batch_;
  }

 private:
  JavaScriptIterator items_;
  const Running& running_;
  Batch batch_;
};

Task<bool> Running::run(val iterator) {
  result_ = {};
  std::optional<GivenBatches> given;
  if (!iterator.isUndefined()) given.emplace(iterator, *this);
  result_ = co_await run_steps(function_, given ? static_cast<BatchIterator&>(*given) : batches_);
  co_return true;
}

Logs logs_of(const val& given, const std::string& name) {
  const Where where{name, "the logs"};
  if (!is_dictionary(given)) where.wrong(given, "an object of numbers", "return what the default function returns");
  Logs logs;
  for (const std::string& key : keys(given)) {
    const val figure = given[key];
    logs.set(key, figure.isNumber() ? figure.as<double>() : from_js<double>(figure, where.of(key)));
  }
  return logs;
}

Task<ExecutionResult> run(val link, std::string name, StepFunction& function, BatchIterator& batches) {
  Running running(function, batches);
  val arguments = val::array();
  arguments.call<void>("push", running.id());
  const val result = co_await settled(call(link, name, arguments));
  ExecutionResult made;
  if (name == "predictFunction")
    made.outputs = from_js<std::vector<Tensor>>(result, {name, "the outputs"});
  else
    made.logs = logs_of(result, name);
  co_return made;
}

}  // namespace

EMSCRIPTEN_BINDINGS(execution) {
  if (in_worker()) return;
  bind<"execution.replace(link, name)", [](val link, std::string name) {
    replace_execution(function_being_made, [link, name](StepFunction& function, BatchIterator& batches) {
      return run(link, name, function, batches);
    });
  }>();
  bind<"execution.next(id)", [](double id) { return Running::of(id).next(); }>();
  bind<"execution.batch(id)", [](double id) {
    const Batch* const batch = Running::of(id).batch();
    check(batch != nullptr, ErrorKind::state, "trainFunction", "no batch - expected one - take the next batch first.");
    return *batch;
  }>();
  bind<"execution.run(id, iterator?)",
       [](double id, val iterator) { return Running::of(id).run(std::move(iterator)); }>();
  bind<"execution.logs(id)", [](double id) { return Running::of(id).result().logs; }>();
  bind<"execution.outputs(id)", [](double id) { return Running::of(id).result().outputs; }>();
}

}  // namespace etude::js
