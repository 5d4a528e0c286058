/// Callbacks written in JavaScript: objects with hooks, such as onEpochEnd(epoch, logs), some of them asynchronous.
/// Étude's own callbacks are in callbacks.cpp.
#include <array>

#include "options.hpp"

namespace etude::js {
namespace {

/// Logs that a hook may read while this object exists. JavaScript identifies them by a number.
class OpenLogs {
 public:
  explicit OpenLogs(Logs& logs) : id_(++last_), logs_(&logs) { open_.emplace(id_, logs_); }
  OpenLogs(OpenLogs&& other) : id_(std::exchange(other.id_, 0)), logs_(other.logs_) {}
  OpenLogs& operator=(OpenLogs&&) = delete;
  ~OpenLogs() { open_.erase(id_); }

  double id() const { return id_; }
  Logs& logs() const { return *logs_; }

  static Logs& of(double id) {
    const auto found = open_.find(id);
    check(found != open_.end(), ErrorKind::state, "Logs",
          "read after their hook - expected a read within it, because they are fetched from the device only when "
          "they are read - copy what you need in the hook: {...logs}.");
    return *found->second;
  }

 private:
  static inline std::map<double, Logs*> open_;
  static inline double last_ = 0;
  double id_;
  Logs* logs_;
};

/// Copies values that a hook set from its view to the logs. A value may be NaN.
void take_changes(const val& view, Logs& logs) {
  const val changes = call_host("changedLogs", view);
  const auto count = changes["length"].as<unsigned>();
  for (unsigned i = 0; i < count; ++i) {
    const val name = changes[i][0], figure = changes[i][1];
    const auto text = name.as<std::string>();
    logs.set(text, figure.isNumber() ? figure.as<double>() : from_js<double>(figure, {"Logs", text}));
  }
}

/// The outputs: a Tensor, or a list for a model of several outputs.
val outputs_of(const Logs& logs) {
  const std::vector<Tensor> outputs = logs.outputs();
  return outputs.size() == 1 ? to_js(outputs.front()) : to_js(outputs);
}

/// An asynchronous hook. Its logs stay open until it has finished.
class HookPending : public PromisePending {
 public:
  HookPending(val promise, val view, OpenLogs open)
      : PromisePending(std::move(promise)), view_(std::move(view)), open_(std::move(open)) {}
  void rethrow() override {
    PromisePending::rethrow();
    take_changes(view_, open_.logs());
  }

 private:
  val view_;
  OpenLogs open_;
};

class JavaScriptCallback : public Callback {
 public:
  explicit JavaScriptCallback(val object) : object_(std::move(object)) {
    for (std::size_t i = 0; i < hooks_.size(); ++i) hooks_[i] = object_[camel_case(names[i])];
  }

  void on_train_begin(Logs& logs) override { run(0, logs); }
  void on_train_end(Logs& logs) override { run(1, logs); }
  void on_epoch_begin(int epoch, Logs& logs) override { run(2, logs, epoch); }
  void on_epoch_end(int epoch, Logs& logs) override { run(3, logs, epoch); }
  void on_train_batch_begin(std::int64_t step, Logs& logs) override { run(4, logs, step); }
  void on_train_batch_end(std::int64_t step, Logs& logs) override { run(5, logs, step); }
  void on_test_begin(Logs& logs) override { run(6, logs); }
  void on_test_end(Logs& logs) override { run(7, logs); }
  void on_test_batch_begin(std::int64_t step, Logs& logs) override { run(8, logs, step); }
  void on_test_batch_end(std::int64_t step, Logs& logs) override { run(9, logs, step); }
  void on_predict_begin(Logs& logs) override { run(10, logs); }
  void on_predict_end(Logs& logs) override { run(11, logs); }
  void on_predict_batch_begin(std::int64_t step, Logs& logs) override { run(12, logs, step); }
  void on_predict_batch_end(std::int64_t step, Logs& logs) override { run(13, logs, step); }

  Needs needs(Hook hook) const override {
    return hooks_[static_cast<std::size_t>(hook)].isUndefined() ? Needs::nothing : Needs::variables;
  }
  PendingPtr take_pending() override { return std::move(pending_); }

  CallbackState state() const override {
    CallbackState state("JavaScript");
    const val text = call_host("stateOf", object_);
    if (text.isString()) state.set_text("json", text.as<std::string>());
    return state;
  }
  void restore(const CallbackState& state) override { call_host("restoreState", object_, state.text("json")); }

  void set_params(const CallbackParams& params) override {
    Callback::set_params(params);
    call_host("assign", object_, std::string("params"), to_js(params));
  }

 private:
  static constexpr std::array<const char*, 14> names{
      "on_train_begin",         "on_train_end",        "on_epoch_begin",   "on_epoch_end",
      "on_train_batch_begin",   "on_train_batch_end",  "on_test_begin",    "on_test_end",
      "on_test_batch_begin",    "on_test_batch_end",   "on_predict_begin", "on_predict_end",
      "on_predict_batch_begin", "on_predict_batch_end"};

  template <class... Index> void run(std::size_t hook, Logs& logs, Index... index) {
    if (hooks_[hook].isUndefined()) return;
    OpenLogs open(logs);
    const val view = host("makeLogs")(names_of(logs), open.id(), logs.has_outputs());
    const val result = call_host("callHook", object_, hooks_[hook], view, static_cast<double>(index)...);
    if (is_promise(result))
      pending_ = std::make_unique<HookPending>(result, view, std::move(open));
    else
      take_changes(view, logs);
  }

  /// The names in these logs; the same array while they do not change.
  const val& names_of(const Logs& logs) {
    bool same = known_.size() == logs.size();
    for (std::size_t i = 0; same && i < known_.size(); ++i) same = known_[i] == logs.name(i);
    if (!same || known_names_.isUndefined()) {
      known_.clear();
      for (std::size_t i = 0; i < logs.size(); ++i) known_.push_back(logs.name(i));
      known_names_ = to_js(known_);
    }
    return known_names_;
  }

  val object_;
  std::array<val, names.size()> hooks_;
  std::vector<std::string> known_;
  val known_names_ = val::undefined();
  PendingPtr pending_;
};

}  // namespace

val Conversion<CallbackParams>::to(const CallbackParams& params) {
  val object = val::object();
  object.set("epochs", params.epochs);
  object.set("steps", to_js(params.steps));
  object.set("verbose", params.verbose);
  return object;
}

CallbackPtr Conversion<CallbackPtr>::from(const val& value, const Where& where) {
  if (type_of(value) != "object" || value.isNull())
    where.wrong(value, "an object with hooks", "pass one such as {onEpochEnd(epoch, logs) {…}}");
  if (value.instanceof(val::module_property("Callback"))) return value.as<CallbackPtr>();
  return std::make_shared<JavaScriptCallback>(value);
}

EMSCRIPTEN_BINDINGS(callback) {
  emscripten::function(
      "readLog(id, index)",
      +[](double id, unsigned index) { return guarded([&] { return OpenLogs::of(id).value(index); }); });
  emscripten::function(
      "readOutputs(id)", +[](double id) { return guarded([&] { return outputs_of(OpenLogs::of(id)); }); });
}

}  // namespace etude::js
