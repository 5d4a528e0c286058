#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/task.hpp"

namespace etude {

/// Names and values, in order.
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

/// A POST request.
struct HttpPost {
  /// The address of the request.
  std::string url;
  /// Its headers.
  HttpHeaders headers;
  /// Its body: JSON, or the field of a form.
  std::string body;
};

/// Sends a request. The caller awaits the result; null: the request is complete. An exception, now or later, means that
/// the server was not reached.
using HttpTransport = std::function<PendingPtr(const HttpPost&)>;

}  // namespace etude
