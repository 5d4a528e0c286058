#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "files_in_memory.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// ModelCheckpoint: rule C-8.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::FilesInMemory;

const Tensor x = waves({8, 3}), y = signs_of(x);

/// A small model whose epochs report the values of a test as "score".
struct Run {
  FilesInMemory files;
  Sequential model{two_dense()};
  Texts said, warned;

  Run() { model.compile(mse()); }

  CallbackPtr checkpoint(ModelCheckpointOptions given) {
    given.print = [this](std::string_view text) { said.emplace_back(text); };
    given.warn = [this](std::string_view text) { warned.emplace_back(text); };
    return callbacks::model_checkpoint(std::move(given));
  }

  void fit(const CallbackPtr& callback, const std::vector<double>& scores) {
    const auto script = callbacks::lambda(
        {.on_epoch_end = [&](int epoch, Logs& logs) { logs.set("score", scores[static_cast<std::size_t>(epoch)]); }});
    model.fit(
        x, y,
        {.batch_size = 2, .epochs = static_cast<int>(scores.size()), .verbose = 0, .callbacks = {script, callback}});
  }

  Texts in(const std::string& folder) { return files.files->list(folder); }
};

const ModelCheckpointOptions weights{.filepath = "to/{epoch:03d}.safetensors", .save_weights_only = true};

}  // namespace

TEST_CASE("model checkpoint: the model is saved after each epoch, and can be loaded", "[callbacks]") {
  Run run;
  run.fit(run.checkpoint({.filepath = "model"}), {1, 2});
  CHECK(std::ranges::equal(load_model("model")->get_weights(), run.model.get_weights(), testing::same_bits));
}

TEST_CASE("model checkpoint: names are formatted as in Python, epochs and batches counted from 1", "[callbacks]") {
  Run run;
  run.fit(run.checkpoint(weights), {1, 2});
  CHECK(run.in("to") == Texts{"001.safetensors", "002.safetensors"});
  run.fit(
      run.checkpoint({.filepath = "other/{epoch}-{score:.2f}-{score:08.3e}.safetensors", .save_weights_only = true}),
      {0.125});
  CHECK(run.in("other") == Texts{"1-0.12-1.250e-01.safetensors"});
  run.fit(run.checkpoint({.filepath = "b/{epoch}-{batch:02d}.safetensors", .save_weights_only = true, .save_freq = 2}),
          {0});
  CHECK(run.in("b") == Texts{"1-02.safetensors", "1-04.safetensors"});
}

TEST_CASE("model checkpoint: numbers without a type are written as by Python's format()", "[callbacks]") {
  Run run;
  // From Python 3.11: format(score, spec).
  struct Row {
    const char* spec;
    double score;
    const char* python;
  };
  const std::vector<Row> rows{{"", 1, "1.0"},
                              {"", 0.1, "0.1"},
                              {"", 0.69314718055994, "0.69314718055994"},
                              {"", 0.69314718055995, "0.69314718055995"},
                              {"", 123456789, "123456789.0"},
                              {"", 1e16, "1e+16"},
                              {"", 1e-5, "1e-05"},
                              {"", -0.0, "-0.0"},
                              {".3", 1, "1.0"},
                              {".3", 0.69314718055994, "0.693"},
                              {".3", 12, "12.0"},
                              {".3", 123, "1.23e+02"},
                              {".3", 100, "1e+02"},
                              {".3", 99.96, "1e+02"},
                              {".3", 0.00001234, "1.23e-05"},
                              {".2", 0, "0.0"},
                              {".1", 0, "0e+00"},
                              {".1", 10, "1e+01"},
                              {".0", 0.25, "0.2"},
                              {".20", 0.1, "0.10000000000000000555"},
                              {"5", 1, "  1.0"},
                              {"08", -2.5, "-00002.5"},
                              {"010.4", 2, "00000002.0"},
                              {"g", 1, "1"}};
  for (const auto& [spec, score, python] : rows) {
    CAPTURE(spec, score);
    const std::string name = *spec ? std::string("{score:") + spec + '}' : "{score}";
    run.fit(run.checkpoint({.filepath = "f/" + name + ".safetensors", .save_weights_only = true}), {score});
    CHECK(run.in("f") == Texts{python + std::string(".safetensors")});
    run.files.files->remove_tree("f");
  }
  run.fit(
      run.checkpoint({.filepath = "e/{epoch}-{epoch:3}-{epoch:03}-{epoch:.1f}.safetensors", .save_weights_only = true}),
      {1});
  CHECK(run.in("e") == Texts{"1-  1-001-1.0.safetensors"});
}

TEST_CASE("model checkpoint: a number wider than the longest name of a file is refused", "[callbacks]") {
  Run run;
  const auto error_for = [&](const std::string& number) {
    return error_of([&] {
      run.fit(run.checkpoint({.filepath = "w/" + number + ".safetensors", .save_weights_only = true}), {0.5});
    });
  };
  CHECK(error_for("{epoch:0240d}").empty());
  CHECK(run.in("w") == Texts{std::string(239, '0').append("1.safetensors")});
  CHECK_THAT(error_for("{epoch:256d}"), ContainsSubstring("format \"256d\" in the filepath - expected a width and a "
                                                          "precision of at most 255"));
  CHECK_THAT(error_for("{score:.9999f}"), ContainsSubstring("a precision of at most 255"));
}

TEST_CASE("model checkpoint: save_freq counts batches across epochs and executions", "[callbacks]") {
  Run run;
  const auto checkpoint = [&] {
    return run.checkpoint({.filepath = "b/{epoch}-{batch}.safetensors", .save_weights_only = true, .save_freq = 3});
  };
  run.fit(checkpoint(), {0, 0, 0});  // four batches per epoch
  CHECK(run.in("b") == Texts{"1-3.safetensors", "2-2.safetensors", "3-1.safetensors", "3-4.safetensors"});
  run.files.files->remove_tree("b");
  CompileOptions options = mse();
  options.steps_per_execution = 2;
  run.model.compile(options);
  run.fit(checkpoint(), {0, 0});
  CHECK(run.in("b") == Texts{"1-4.safetensors", "2-4.safetensors"});
}

TEST_CASE("model checkpoint: with save_best_only it saves improvements only, and reports them", "[callbacks]") {
  Run run;
  ModelCheckpointOptions options = weights;
  options.monitor = "score";
  options.mode = "max";
  options.save_best_only = true;
  options.verbose = 1;
  const auto callback = run.checkpoint(options);
  run.fit(callback, {0.5, 0.25, 0.75, 0.75});
  CHECK(run.in("to") == Texts{"001.safetensors", "003.safetensors"});
  CHECK(run.said == Texts{"\nEpoch 1: score improved from None to 0.50000, saving model to to/001.safetensors",
                          "\nEpoch 2: score did not improve from 0.50000",
                          "\nEpoch 3: score improved from 0.50000 to 0.75000, saving model to to/003.safetensors",
                          "\nEpoch 4: score did not improve from 0.75000"});
  run.files.files->remove_tree("to");
  run.fit(callback, {0.6});
  CHECK_FALSE(run.files.files->exists("to"));
}

TEST_CASE("model checkpoint: the first save must improve on initial_value_threshold", "[callbacks]") {
  Run run;
  ModelCheckpointOptions options = weights;
  options.monitor = "score";
  options.mode = "min";
  options.save_best_only = true;
  options.initial_value_threshold = 0.5;
  run.fit(run.checkpoint(options), {0.6, 0.5, 0.4});
  CHECK(run.in("to") == Texts{"003.safetensors"});
}

TEST_CASE("model checkpoint: a missing monitored value is a warning, and nothing is saved", "[callbacks]") {
  Run run;
  ModelCheckpointOptions options = weights;
  options.monitor = "val_loss";
  options.save_best_only = true;
  run.fit(run.checkpoint(options), {1});
  CHECK(run.warned ==
        Texts{"Can save best model only with `val_loss` which is not available. Available metrics are: loss,score"});
  CHECK_FALSE(run.files.files->exists("to"));
}

TEST_CASE("model checkpoint: invalid options are Errors", "[callbacks]") {
  const auto error = [](const ModelCheckpointOptions& options) {
    return testing::error_of([&] { callbacks::model_checkpoint(options); });
  };
  CHECK_THAT(error({}), ContainsSubstring("[ModelCheckpoint] no filepath - expected the path"));
  CHECK_THAT(error({.filepath = "weights.h5", .save_weights_only = true}), ContainsSubstring("ends with .safetensors"));
  CHECK_THAT(testing::error_of([] { SaveFrequency("batch"); }), ContainsSubstring("expected \"epoch\" or a number"));
  CHECK_THAT(testing::error_of([] { SaveFrequency(0); }), ContainsSubstring("save_freq = 0 - expected"));
  for (const char* path : {"{nothing}", "{epoch", "{epoch:x}", "{epoch:.3}", "{loss:.2%}"}) {
    Run run;
    const std::string said = testing::error_of([&] { run.fit(run.checkpoint({.filepath = path}), {1}); });
    CHECK_THAT(said, ContainsSubstring("check the filepath."));
  }
}

}  // namespace etude
