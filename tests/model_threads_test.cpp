#ifdef ETUDE_THREADS
#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "etude/etude.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Models on several threads.
using namespace etude;
using namespace etude::testing;

TEST_CASE("a thread predicts with one model while another trains another, each to its own bits", "[threads]") {
  using namespace samples;
  const Tensor x = waves({64, 20}), y = signs_of(x);
  const auto model = [] {
    auto made = std::make_unique<Sequential>(two_dense(8));
    made->build({-1, 20});
    made->compile(mse());
    return made;
  };
  const auto fit = [&](Sequential& trained) {
    trained.fit(x, y, {.batch_size = 8, .epochs = 3, .verbose = 0, .shuffle = false});
  };
  const auto alone = model(), trained = model(), predicts = model();
  fit(*alone);
  const Tensor expected = predicts->predict(x, {.verbose = 0});
  std::atomic<bool> same = true;
  std::thread other([&] {
    for (int i = 0; i < 20; ++i)
      same = same && same_bits(predicts->predict(x, {.batch_size = 16, .verbose = 0}), expected);
  });
  fit(*trained);
  other.join();
  CHECK(same);
  CHECK(std::ranges::equal(trained->get_weights(), alone->get_weights(), same_bits));
}

TEST_CASE("loops of one model on two threads are an error, and the first loop continues", "[threads]") {
  using namespace samples;
  const Tensor x = waves({8, 3}), y = signs_of(x);
  Sequential model(two_dense());
  model.compile(mse());
  std::vector<std::string> texts;
  const auto on_another_thread = [&](const std::function<void()>& action) {
    std::thread([&] { texts.push_back(error_of(action)); }).join();
  };
  PredictionStream begun = model.predict_stream(x, {.batch_size = 4, .verbose = 0});
  begun.next();
  const auto try_all = std::make_shared<LambdaCallback>(LambdaCallbackOptions{.on_epoch_end = [&](std::int64_t, Logs&) {
    on_another_thread([&] { model.predict(x, {.verbose = 0}); });
    on_another_thread([&] { model.evaluate(x, y, {.verbose = 0}); });
    on_another_thread([&] { model.train_on_batch(x, y); });
    on_another_thread([&] { model.predict_stream(x, {.verbose = 0}).next(); });
    on_another_thread([&] { begun.next(); });
    // A stream that is closed at its end reports no error.
    on_another_thread([&] { PredictionStream(std::move(begun)); });
    model.predict(x, {.verbose = 0});  // allowed on its own thread
  }});
  model.fit(x, y, {.epochs = 1, .verbose = 0, .callbacks = {try_all}});
  REQUIRE(texts.size() == 6);
  CHECK(texts.back() == "no error");
  texts.pop_back();
  for (const std::string& text : texts)
    CHECK(text.find("another thread runs a loop of this model") != std::string::npos);
  on_another_thread([&] { model.predict(x, {.verbose = 0}); });
  CHECK(texts.back() == "no error");
}
#endif
