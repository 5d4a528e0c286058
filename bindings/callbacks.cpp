/// Keras's callbacks, and what they want of JavaScript: files, the network, a schedule.
#include "bind.hpp"
#include "files.hpp"

namespace etude::js {
namespace {

void check_function(const val& value, const Where& where, const char* expected) {
  if (type_of(value) != "function") where.wrong(value, expected, "pass one");
}

/// With an option of Keras that is an error where there are no signals, rather than unknown.
struct BackupAndRestoreOptions : etude::BackupAndRestoreOptions {
  template <class Self, class Visitor> static void fields(Self& self, Visitor&& visit) {
    etude::BackupAndRestoreOptions::fields(self, visit);
    visit("save_before_preemption", self.save_before_preemption);
  }
};

}  // namespace

template <> struct Crossing<OpenFile> {
  static OpenFile from(const val& function, const Where& where) {
    check_function(function, where, "a function of a path that gives what can be appended to");
    return [function](const std::string& path, bool append) -> std::unique_ptr<FileSink> {
      return std::make_unique<JavaScriptFile>(call_host("asFile", call(function, val(path), val(append))));
    };
  }
  static std::string given() { return "((path: string, append: boolean) => FileSink)"; }
};

template <> struct Crossing<HttpHeaders> {
  static HttpHeaders from(const val& value, const Where& where) {
    if (type_of(value) != "object" || value.isNull()) where.wrong(value, "an object of texts", "pass one");
    HttpHeaders headers;
    for (const std::string& name : keys(value))
      headers.emplace_back(name, from_js<std::string>(value[name], where.of(where.what + '.' + name)));
    return headers;
  }
  static std::string given() { return "Readonly<Record<string, string>>"; }
};

template <> struct Crossing<HttpTransport> {
  static HttpTransport from(const val& function, const Where& where) {
    check_function(function, where, "a function of {url, headers, body} that posts it");
    return [function](const HttpPost& post) -> PendingPtr {
      val headers = val::object(), given = val::object();
      for (const auto& [name, value] : post.headers) headers.set(name, value);
      given.set("url", post.url);
      given.set("headers", headers);
      given.set("body", post.body);
      const val result = call(function, given);
      if (is_promise(result)) return std::make_unique<PromisePending>(result);
      return nullptr;
    };
  }
  static std::string given() { return "((post: HttpPost) => unknown)"; }
};

template <> struct Crossing<EpochSchedule> {
  static EpochSchedule from(const val& function, const Where& where) {
    check_function(function, where, "a function of the epoch and the learning rate");
    return [function](int epoch, double learning_rate) {
      const val result = call(function, to_js(epoch), to_js(learning_rate));
      return from_js<double>(result, {"LearningRateScheduler", "the result of schedule"});
    };
  }
  static std::string given() { return "((epoch: number, learningRate: number) => number)"; }
};

template <> struct Crossing<UpdateFrequency> {
  static UpdateFrequency from(const val& value, const Where& where) {
    return value.isString() ? UpdateFrequency(value.as<std::string>().c_str())
                            : UpdateFrequency(from_js<int>(value, where));
  }
  static std::string given() { return "number | 'batch' | 'epoch'"; }
};

template <> struct Crossing<SaveFrequency> {
  static SaveFrequency from(const val& value, const Where& where) {
    return value.isString() ? SaveFrequency(value.as<std::string>().c_str())
                            : SaveFrequency(from_js<std::int64_t>(value, where));
  }
  static std::string given() { return "number | 'epoch'"; }
};

EMSCRIPTEN_BINDINGS(callbacks) {
  if (in_worker()) return;
  auto callback = held<Callback>();
  property<"Callback.params", [](Callback& self) { return self.params(); }>(callback);
  auto early_stopping = held<EarlyStopping, emscripten::base<Callback>>();
  property<"EarlyStopping.stopped_epoch", [](EarlyStopping& self) { return self.stopped_epoch(); }>(early_stopping);
  property<"EarlyStopping.best", [](EarlyStopping& self) { return self.best(); }>(early_stopping);
  auto metrics = held<OperationalMetrics, emscripten::base<Callback>>();
  method<"OperationalMetrics.json()", [](OperationalMetrics& self) { return self.json(); }>(metrics);
  method<"OperationalMetrics.report_checkpoint_write(milliseconds)",
         [](OperationalMetrics& self, double milliseconds) { self.report_checkpoint_write(milliseconds); }>(metrics);
  method<"OperationalMetrics.report_replica_sync(milliseconds)",
         [](OperationalMetrics& self, double milliseconds) { self.report_replica_sync(milliseconds); }>(metrics);

  bind<"callbacks.early_stopping(options?)", callbacks::early_stopping>();
  bind<"callbacks.reduce_lr_on_plateau(options?)",
       [](ReduceLROnPlateauOptions options) -> CallbackPtr { return callbacks::reduce_lr_on_plateau(options); }>();
  bind<"callbacks.learning_rate_scheduler(options)", [](LearningRateSchedulerOptions options) -> CallbackPtr {
    return callbacks::learning_rate_scheduler(options);
  }>();
  bind<"callbacks.terminate_on_nan(options?)",
       [](TerminateOnNaNOptions options) -> CallbackPtr { return callbacks::terminate_on_nan(options); }>();
  bind<"callbacks.model_checkpoint(options)",
       [](ModelCheckpointOptions options) -> CallbackPtr { return callbacks::model_checkpoint(options); }>();
  bind<"callbacks.backup_and_restore(options)",
       [](BackupAndRestoreOptions options) -> CallbackPtr { return callbacks::backup_and_restore(options); }>();
  bind<"callbacks.swap_ema_weights(options?)",
       [](SwapEMAWeightsOptions options) -> CallbackPtr { return callbacks::swap_ema_weights(options); }>();
  bind<"callbacks.csv_logger(options)",
       [](CSVLoggerOptions options) -> CallbackPtr { return callbacks::csv_logger(options); }>();
  bind<"callbacks.remote_monitor(options?)",
       [](RemoteMonitorOptions options) -> CallbackPtr { return callbacks::remote_monitor(options); }>();
  bind<"callbacks.tensorboard(options?)",
       [](TensorBoardOptions options) -> CallbackPtr { return callbacks::tensorboard(options); }>();
  bind<"callbacks.operational_metrics()", [] { return callbacks::operational_metrics(); }>();

  // What web/ gives when it has loaded the module: fetch.
  bind<"set_host_transport(post)", [](HttpTransport post) { host_transport() = std::move(post); }>();
}

}  // namespace etude::js
