#include "etude/callbacks/remote_monitor.hpp"

#include <cctype>
#include <exception>

#include "etude/base/error.hpp"
#include "etude/base/host.hpp"

namespace etude {
namespace {

/// Runs a request; a failure becomes a warning.
template <class Work> void attempt(const RemoteMonitorOptions& options, Work&& work) {
  const std::string text = "Could not reach RemoteMonitor root server at " + options.root;
  try {
    work();
  } catch (const std::exception& error) {
    print_warning(options.warn, text + ": " + error.what());
  } catch (...) {  // an exception of another language
    print_warning(options.warn, text);
  }
}

/// A pending request.
class Posting : public Pending {
 public:
  Posting(PendingPtr inner, const RemoteMonitorOptions& options) : inner_(std::move(inner)), options_(options) {}
  bool ready() const override { return inner_->ready(); }
  void on_ready(std::coroutine_handle<> resume) override { inner_->on_ready(resume); }
  void rethrow() override {
    attempt(options_, [&] { inner_->rethrow(); });
  }

 private:
  PendingPtr inner_;
  const RemoteMonitorOptions& options_;
};

/// The encoding of forms: all except letters, digits and -._~ as %XX.
std::string percent_encoded(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '.' || c == '_' || c == '~') {
      result += c;
    } else {
      constexpr const char* digits = "0123456789ABCDEF";
      result += {'%', digits[byte / 16], digits[byte % 16]};
    }
  }
  return result;
}

}  // namespace

RemoteMonitor::RemoteMonitor(RemoteMonitorOptions options) : options_(std::move(options)) {
  check(options_.root.starts_with("http://") || options_.root.starts_with("https://"), ErrorKind::value,
        "RemoteMonitor", "root = \"", options_.root,
        "\" - expected an address that begins with http:// or https:// - "
        "set root.");
  if (!options_.post) options_.post = host().post;
  check(static_cast<bool>(options_.post), ErrorKind::io, "RemoteMonitor",
        "no transport - expected a function that posts, because this host has no network - set post.");
}

void RemoteMonitor::on_epoch_end(int epoch, Logs& logs) {
  std::vector<std::pair<std::string, double>> figures{{"epoch", epoch}};
  for (auto& figure : logs.values()) figures.push_back(std::move(figure));
  HttpPost post{options_.root + options_.path, options_.headers, json_object(figures)};
  // First, so that a header of the user, which comes later, takes precedence.
  const char* type = options_.send_as_json ? "application/json" : "application/x-www-form-urlencoded";
  post.headers.insert(post.headers.begin(), {"Content-Type", type});
  if (!options_.send_as_json) post.body = percent_encoded(options_.field) + '=' + percent_encoded(post.body);
  attempt(options_, [&] {
    if (PendingPtr pending = options_.post(post)) pending_ = std::make_unique<Posting>(std::move(pending), options_);
  });
}

}  // namespace etude
