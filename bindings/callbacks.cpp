/// Members of Keras's callbacks, besides their options.
#include "bind.hpp"
#include "callback_options.hpp"

namespace etude::js {

EMSCRIPTEN_BINDINGS(callbacks) {
  if (in_worker()) return;
  auto callback = held<Callback>();
  property<"Callback.params", [](Callback& self) { return self.params(); }>(callback);
  auto early_stopping = held<EarlyStopping, emscripten::base<Callback>>();
  property<"EarlyStopping.stopped_epoch", [](EarlyStopping& self) { return self.stopped_epoch(); }>(early_stopping);
  property<"EarlyStopping.best", [](EarlyStopping& self) { return self.best(); }>(early_stopping);
}

EMSCRIPTEN_BINDINGS(operational_metrics) {
  if (in_worker()) return;
  auto metrics = held<OperationalMetrics, emscripten::base<Callback>>();
  method<"OperationalMetrics.json()", [](OperationalMetrics& self) { return self.json(); }>(metrics);
  method<"OperationalMetrics.report_checkpoint_write(milliseconds)",
         [](OperationalMetrics& self, double milliseconds) { self.report_checkpoint_write(milliseconds); }>(metrics);
  method<"OperationalMetrics.report_replica_sync(milliseconds)",
         [](OperationalMetrics& self, double milliseconds) { self.report_replica_sync(milliseconds); }>(metrics);
}

}  // namespace etude::js
