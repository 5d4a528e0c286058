#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/http.hpp"
#include "etude/callbacks/detail/output.hpp"
#include "etude/training/callback.hpp"

namespace etude {

struct RemoteMonitorOptions {
  std::string root = "http://localhost:9000";
  std::string path = "/publish/epoch/end/";
  /// The field of the form that holds the logs; unused with send_as_json.
  std::string field = "data";
  HttpHeaders headers = {};
  bool send_as_json = false;
  /// Sends the request; host().post if empty.
  HttpTransport post = {};
  /// The receiver of warnings; stderr if empty.
  TextSink warn = {};

  template <class O = RemoteMonitorOptions> static constexpr auto fields() {
    return option_rows(option<&O::root>("URL of the server."), option<&O::path>("Path that is appended to it."),
                       option<&O::field>("Name of the form field that holds the logs."),
                       option<&O::headers>("Headers of the requests."),
                       option<&O::send_as_json>("Whether the logs are sent as JSON rather than as a form."),
                       option<&O::post>("Function that sends the request instead of the host."));
  }
};

/// Posts the logs of each epoch to root + path: as JSON, {"epoch": 0, "loss": 0.5}, or as a form with that JSON in one
/// field. fit waits for the answer. An unreachable server causes only a warning. Source:
/// keras/src/callbacks/remote_monitor.py.
class RemoteMonitor : public Callback {
 public:
  using Options = RemoteMonitorOptions;
  static constexpr ClassText about{"RemoteMonitor", "Posts the logs of each epoch to a server."};
  /// Throws Error(value) unless root is an address of http or https, Error(io) if there is no transport.
  explicit RemoteMonitor(RemoteMonitorOptions options = {});

  Needs needs(Hook) const override { return Needs::nothing; }
  void on_epoch_end(int epoch, Logs& logs) override;
  PendingPtr take_pending() override { return std::move(pending_); }

 private:
  RemoteMonitorOptions options_;
  PendingPtr pending_;
};

namespace callbacks {

inline constexpr Factory<RemoteMonitor> remote_monitor;

}  // namespace callbacks
}  // namespace etude
