#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstdio>
#ifndef __EMSCRIPTEN__
#include <unistd.h>
#endif

#include "etude/base/detail/clock.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"
#include "training_samples.hpp"

// Numbers that become constants in a trace, steps that train nothing, and variables that a model reads.
namespace etude {
namespace {

using namespace samples;
using Catch::Matchers::ContainsSubstring;
using testing::error_of;
using testing::kind_of;

const Tensor x = waves({8, 3}), y = signs_of(x);

FitOptions quiet() { return {.batch_size = 4, .verbose = 0}; }

CompileOptions checked(CompileOptions options = mse()) {
  options.check_trace = true;
  return options;
}

/// A sequential model whose step is a function of the model.
class Stepping : public Sequential {
 public:
  using Step = std::function<StepLogs(Stepping&, const StepData&)>;
  Stepping(std::vector<LayerPtr> layers, Step step) : Sequential(std::move(layers)), step_(std::move(step)) {}
  StepLogs train_step(const StepData& data) override { return step_(*this, data); }

 private:
  Step step_;
};

/// Trains with a loss that is multiplied by the result of `factor`.
Stepping::Step scaled_by(std::function<double()> factor) {
  return [factor = std::move(factor)](Stepping& model, const StepData& data) {
    const Value y_pred = model(data.x[0], true), loss = ops::mean(ops::square(data.y[0] - y_pred)) * factor();
    model.optimizer().apply(gradients(loss, model.trainable_variables()), model.trainable_variables());
    return StepLogs{{"loss", loss}};
  };
}

/// x · w, with a variable that belongs to no layer.
class Weighing : public Model {
 public:
  explicit Weighing(std::vector<Variable> variables) : variables_(std::move(variables)) {}
  Value call(Value given, bool) override {
    Value product = given;
    for (const Variable& variable : variables_) product = product * Graph::current().read(variable);
    return ops::sum(product, {-1}, true);
  }

 private:
  std::vector<Variable> variables_;
};

Variable ones(const char* name, bool trainable = true) { return {name, filled({3}, 1), trainable}; }

#ifndef __EMSCRIPTEN__
/// The output of `action` on stderr.
std::string stderr_of(const std::function<void()>& action) {
  std::fflush(stderr);
  std::FILE* file = std::tmpfile();
  const int before = dup(2);
  dup2(fileno(file), 2);
  action();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::string text(static_cast<std::size_t>(lseek(fileno(file), 0, SEEK_CUR)), ' ');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}
#endif

}  // namespace

TEST_CASE("check_trace names the op in which a recomputed number became a constant", "[tracing]") {
  Stepping model(two_dense(), scaled_by([n = 0]() mutable { return 0.5 + ++n; }));
  model.build({-1, 3});
  model.compile(checked());
  const std::vector<double> before = weights_of(model);
  const std::string text = error_of([&] { model.fit(x, y, quiet()); });
  CHECK_THAT(text, ContainsSubstring("[check_trace] Multiply of shape []"));
  CHECK_THAT(text, ContainsSubstring("in one trace and with"));
  CHECK(kind_of([&] { model.fit(x, y, quiet()); }) == ErrorKind::state);
  CHECK(weights_of(model) == before);
  // Switched off, there is no error.
  model.compile(mse());
  CHECK(error_of([&] { model.fit(x, y, quiet()); }) == "");
}

TEST_CASE("check_trace detects a clock of milliseconds in a step that is traced within one", "[tracing]") {
  const auto milliseconds = [] { return static_cast<double>(wall_milliseconds()); };
  for (int i = 0; i < 20; ++i) {
    Stepping model(two_dense(), scaled_by(milliseconds));
    model.compile(checked());
    CHECK_THAT(error_of([&] { model.fit(x, y, quiet()); }), ContainsSubstring("[check_trace] Multiply of shape []"));
  }
}

TEST_CASE("check_trace reports ops that one trace has and the other lacks", "[tracing]") {
  Stepping model(two_dense(), [n = 0](Stepping& self, const StepData& data) mutable {
    Value y_pred = self(data.x[0], true);
    if (++n % 2 == 0) y_pred = ops::tanh(y_pred);
    const Value loss = self.compute_loss(data, y_pred);
    self.optimizer().apply(gradients(loss, self.trainable_variables()), self.trainable_variables());
    return StepLogs{{"loss", loss}};
  });
  model.compile(checked());
  CHECK_THAT(error_of([&] { model.fit(x, y, quiet()); }), ContainsSubstring("Tanh of shape [4, 1]"));
}

TEST_CASE("check_trace accepts steps whose traces are equal", "[tracing]") {
  Stepping steady(two_dense(), scaled_by([] { return 0.5; }));
  steady.compile(checked());
  CHECK(error_of([&] { steady.fit(x, y, quiet()); }) == "");

  // Parts with draws, loops over time, averages and constants.
  const SymbolicTensor in = layers::input({.shape = {4, 3}});
  const SymbolicTensor steps =
      layers::lstm({.units = 3, .dropout = 0.2, .recurrent_dropout = 0.2, .return_sequences = true})->apply(in);
  const SymbolicTensor normalized = layers::batch_normalization()->apply(layers::dropout(0.3)->apply(steps));
  const SymbolicTensor attended =
      layers::multi_head_attention({.num_heads = 2, .key_dim = 2, .dropout = 0.1})->apply({normalized, normalized});
  Functional model(
      {in}, {layers::dense({.units = 3, .activation = "softmax"})->apply(layers::gru({.units = 2})->apply(attended))});
  model.compile(checked({.optimizer = optimizers::adam({.use_ema = true, .gradient_accumulation_steps = 2}),
                         .loss = "sparse_categorical_crossentropy",
                         .metrics = {"accuracy"}}));
  const Tensor labels = Tensor::from<std::int32_t>({6}, {0, 1, 2, 0, 1, 2});
  CHECK(error_of([&] {
          model.fit(waves({6, 4, 3}), labels, {.batch_size = 4, .epochs = 2, .verbose = 0, .validation_split = 0.3});
        }) == "");
  CHECK(error_of([&] { model.predict(waves({6, 4, 3}), {.verbose = 0}); }) == "");
}

TEST_CASE("a variable that a model's call reads is trained, counted and listed", "[tracing]") {
  const Variable weight = ones("w");
  Weighing model({weight});
  model.compile(mse());
  CHECK(model.fit(x, y, quiet())->history().front().second.size() == 1);
  CHECK(model.trainable_variables() == std::vector{weight});
  CHECK(model.count_params() == 3);
  CHECK(numbers(weight.value()) != std::vector<double>{1, 1, 1});
  std::string summary;
  model.summary({.print_fn = [&](std::string_view text) { summary += text; }});
  CHECK_THAT(summary, ContainsSubstring("Total params: 3"));
}

TEST_CASE("a variable that a model reads trains like a dense layer's kernel", "[tracing]") {
  const auto in_order = [](Model& model) {
    model.compile(mse());
    model.fit(x, y, {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    return weights_of(model);
  };
  Weighing model({ones("w")});
  Sequential dense(summing_unit());
  const std::vector<double> learned = in_order(model), expected = in_order(dense);
  REQUIRE(learned.size() == expected.size());
  for (std::size_t i = 0; i < learned.size(); ++i) CHECK(std::abs(learned[i] - expected[i]) < 1e-6);
}

TEST_CASE("variables that a model reads are saved and loaded, even with equal names", "[tracing]") {
  const testing::ScratchFolder folder("tracing");
  const std::string path = folder.path() + "/own.safetensors";
  const auto make = [] { return std::vector{ones("variable"), ones("variable"), ones("fixed", false)}; };
  Weighing model(make());
  CHECK_THAT(error_of([&] { model.save_weights(path); }), ContainsSubstring("no weights yet"));
  model.compile(mse());
  model.fit(x, y, quiet());
  CHECK(model.trainable_variables().size() == 2);
  CHECK(model.non_trainable_variables().size() == 1);
  model.save_weights(path);

  Weighing loaded(make());
  loaded.build({-1, 3});
  CHECK(weights_of(loaded) != weights_of(model));
  loaded.load_weights(path);
  CHECK(weights_of(loaded) == weights_of(model));
  // Configs do not contain them.
  CHECK_THAT(error_of([&] { model.save(folder.path() + "/model"); }), ContainsSubstring("save_weights()"));
}

TEST_CASE("a variable that two layers share is trained once, and a frozen one is not", "[tracing]") {
  const Variable shared = ones("shared"), frozen = ones("frozen", false);
  const auto first = std::make_shared<Weighing>(std::vector{shared, frozen}),
             second = std::make_shared<Weighing>(std::vector{shared});
  const SymbolicTensor in = layers::input({.shape = {3}});
  Functional model({in}, {layers::add()->apply({first->apply(in), second->apply(in)})});
  model.compile(mse());
  model.fit(x, y, quiet());
  CHECK(model.trainable_variables() == std::vector{shared});
  CHECK(model.count_params() == 6);
  CHECK(numbers(frozen.value()) == std::vector<double>{1, 1, 1});
  model.set_trainable(false);
  CHECK(model.trainable_variables().empty());
}

TEST_CASE("a variable that only a step reads is not a weight of the model", "[tracing]") {
  const Variable steps("steps", Tensor(Shape{}), false), rate("rate", filled({}, 1));
  Stepping model(two_dense(), [&](Stepping& self, const StepData& data) {
    Graph& graph = Graph::current();
    graph.assign(steps, graph.read(steps) + 1);
    const Value loss = self.compute_loss(data, self(data.x[0], true)) * graph.read(rate);
    self.optimizer().apply(gradients(loss, self.trainable_variables()), self.trainable_variables());
    return StepLogs{{"loss", loss}};
  });
  model.compile(mse());
  model.fit(x, y, quiet());
  CHECK(model.weights().size() == 4);
  CHECK(steps.value().item() == 2);
}

#ifndef __EMSCRIPTEN__
TEST_CASE("a variable that is created within call is a warning, once, and not a weight", "[tracing]") {
  class Forgetful : public Model {
   public:
    Value call(Value given, bool) override {
      const Variable anew("scale", filled({3}, 1)), constant("constant", filled({3}, 2), false);
      return ops::sum(given * Graph::current().read(anew) * Graph::current().read(constant), {-1}, true);
    }
  };
  Forgetful model;
  const std::string text = stderr_of([&] {
    model.predict(x, {.verbose = 0});
    model.predict(x.rows(0, 3), {.verbose = 0});
  });
  CHECK_THAT(text, ContainsSubstring("the variable \"scale\" is created within call"));
  CHECK(text.find("scale") == text.rfind("scale"));
  CHECK(text.find("constant") == std::string::npos);
  CHECK(model.weights().empty());
}

TEST_CASE("a train step without an optimizer is a warning, once", "[tracing]") {
  const auto idle = [](Stepping& self, const StepData& data) {
    return StepLogs{{"loss", self.compute_loss(data, self(data.x[0], true))}};
  };
  Stepping model(two_dense(), idle);
  model.compile(mse());
  const auto fit = [&] { model.fit(x, y, {.batch_size = 3, .epochs = 2, .verbose = 0}); };
  const std::string text = stderr_of(fit);
  CHECK_THAT(text, ContainsSubstring("the train step changes no trainable variable"));
  CHECK(text.find("Warning") == text.rfind("Warning"));
  CHECK(stderr_of(fit).empty());

  Stepping trains(two_dense(), scaled_by([] { return 1.0; }));
  trains.compile(mse());
  CHECK(stderr_of([&] { trains.fit(x, y, quiet()); }).empty());
  Sequential plain(two_dense());
  plain.compile(mse());
  CHECK(stderr_of([&] { plain.fit(x, y, quiet()); }).empty());
}

TEST_CASE("jit_compile = true with run_eagerly is a warning, and steps run eagerly", "[tracing]") {
  Sequential model(two_dense());
  const auto said = [&](JitCompile jit_compile) {
    return stderr_of([&] { model.compile({.loss = "mse", .run_eagerly = true, .jit_compile = jit_compile}); });
  };
  CHECK(said(true) ==
        "Warning: If `run_eagerly` is true, then `jit_compile` cannot also be true. Disabling `jit_compile`.\n");
  CHECK(model.compile_options().run_eagerly);
  CHECK(said(false).empty());
  CHECK(said("auto").empty());
}
#endif

}  // namespace etude
