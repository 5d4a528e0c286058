#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <stdexcept>

#include "training_samples.hpp"

namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({8, 3}), y = signs_of(x);

/// Fits of two epochs with the loss 0.5, and their posts and warnings.
struct Monitored {
  Sequential model{two_dense()};
  std::vector<HttpPost> posts;
  Texts warned;
  Monitored() { model.compile(mse()); }

  HistoryPtr fit(RemoteMonitorOptions options) {
    options.warn = [this](std::string_view text) { warned.emplace_back(text); };
    if (!options.post)
      options.post = [this](const HttpPost& post) {
        posts.push_back(post);
        return PendingPtr();
      };
    const auto script = callbacks::lambda({.on_epoch_end = [](int, Logs& logs) { logs.set("loss", 0.5); }});
    return model.fit(x, y, {.epochs = 2, .verbose = 0, .callbacks = {script, callbacks::remote_monitor(options)}});
  }
};

/// An answer that is available, and may be a failure.
struct Answer : Pending {
  int& asked;
  bool fails;
  Answer(int& a, bool f) : asked(a), fails(f) {}
  bool ready() const override { return true; }
  void on_ready(std::coroutine_handle<>) override {}
  void rethrow() override {
    ++asked;
    if (fails) throw std::runtime_error("connection refused");
  }
};

}  // namespace

TEST_CASE("remote monitor: posts each epoch's logs as a form", "[callbacks]") {
  Monitored run;
  run.fit({.headers = {{"X-Run", "7"}}});
  REQUIRE(run.posts.size() == 2);
  CHECK(run.posts[0].url == "http://localhost:9000/publish/epoch/end/");
  CHECK(run.posts[0].headers == HttpHeaders{{"Content-Type", "application/x-www-form-urlencoded"}, {"X-Run", "7"}});
  CHECK(run.posts[1].body == "data=%7B%22epoch%22%3A%201%2C%20%22loss%22%3A%200.5%7D");
}

TEST_CASE("remote monitor: posts JSON on request, to any path", "[callbacks]") {
  Monitored run;
  run.fit({.root = "https://example.org", .path = "/in", .send_as_json = true});
  REQUIRE(run.posts.size() == 2);
  CHECK(run.posts[0].url == "https://example.org/in");
  CHECK(run.posts[0].headers == HttpHeaders{{"Content-Type", "application/json"}});
  CHECK(run.posts[1].body == R"({"epoch": 1, "loss": 0.5})");
}

TEST_CASE("remote monitor: fit waits for answers; an unreachable server is a warning, and fit continues",
          "[callbacks]") {
  Monitored run;
  int asked = 0;
  const auto answering = [&](bool fails) {
    return RemoteMonitorOptions{
        .post = [&asked, fails](const HttpPost&) -> PendingPtr { return std::make_unique<Answer>(asked, fails); }};
  };
  run.fit(answering(false));
  CHECK(asked == 2);
  CHECK(run.warned.empty());
  CHECK(run.fit(answering(true))->epoch().size() == 2);
  const std::string warning = "Could not reach RemoteMonitor root server at http://localhost:9000: connection refused";
  CHECK(run.warned == Texts{warning, warning});
  run.fit({.post = [](const HttpPost&) -> PendingPtr { throw 7; }});
  CHECK(run.warned.back() == "Could not reach RemoteMonitor root server at http://localhost:9000");
}

TEST_CASE("remote monitor: a missing transport or web address is an error at once", "[callbacks]") {
  CHECK_THAT(error_of([] { callbacks::remote_monitor(); }), ContainsSubstring("[RemoteMonitor] no transport"));
  CHECK_THAT(error_of([] { callbacks::remote_monitor({.root = "file:///etc"}); }),
             ContainsSubstring("[RemoteMonitor] root = \"file:///etc\""));
}

}  // namespace etude
