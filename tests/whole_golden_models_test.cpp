#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "etude/etude.hpp"
#include "golden.hpp"
#include "support.hpp"

// Compares whole models with Keras 3: see whole_models.json in tests/golden/README.md.
namespace etude {
namespace {

using nlohmann::json;
using testing::numbers_in;
using testing::tensor_of_lists;
using Tensors = std::vector<Tensor>;
using Numbers = std::vector<double>;

/// Attention of a sequence to itself: each step attends to those up to its own. A config cannot say so, because that is
/// an argument of the call.
class Causal : public Layer {
 public:
  explicit Causal(LayerPtr layer) : Layer("Causal"), layer_(std::move(layer)) {}
  std::vector<LayerPtr> layers() const override { return {layer_}; }
  Value call(Value x, bool training) override {
    if (auto* heads = dynamic_cast<MultiHeadAttention*>(layer_.get()))
      return heads->attend({.query = x, .value = x, .use_causal_mask = true, .training = training}).output;
    return dynamic_cast<ScoredAttention&>(*layer_)
        .attend({x, x}, {.use_causal_mask = true, .training = training})
        .output;
  }

 private:
  LayerPtr layer_;
};

LayerPtr layer_from(const json& described) {
  if (described.at("class_name") != "Causal") return from_json<Layer>(described.dump());
  return std::make_shared<Causal>(from_json<Layer>(described.at("config").at("layer").dump()));
}

ModelPtr model_from(const json& described) {
  if (described.dump().find("\"Causal\"") == std::string::npos) return model_from_json(described.dump());
  std::vector<LayerPtr> layers;
  for (const json& each : described.at("config").at("layers")) layers.push_back(layer_from(each));
  auto model = std::make_shared<Sequential>(std::move(layers));
  Shape shape{-1};
  for (const json& extent : described.at("config").at("build_input_shape"))
    if (!extent.is_null()) shape.append(extent);
  model->build(shape);
  return model;
}

Tensors tensors_from(const json& all) {
  Tensors result;
  for (const json& each : all) result.push_back(tensor_of_lists(each));
  return result;
}

Tensors rows_of(const Tensors& all, std::int64_t begin, std::int64_t end) {
  Tensors result;
  for (const Tensor& each : all) result.push_back(each.rows(begin, end));
  return result;
}

template <class T> Choice<T> choice_from(const json& given) {
  if (given.is_string()) return given.get<std::string>();
  return from_json<T>(given.dump());
}

/// The allowed differences, relative to the largest number of a list plus 0.01: a gradient may be 0 except for
/// rounding.
struct Allowed {
  double forward = 0, gradients = 0, losses = 0, after = 0;
};

/// A model of whole_models.json, built, compiled, and with its initial weights.
class Case {
 public:
  Case(const json& given, std::int64_t batch_size)
      : given_(given),
        batch_size_(batch_size),
        model_(model_from(given.at("model"))),
        x_(tensors_from(given.at("x"))),
        y_(tensors_from(given.at("y"))) {
    if (given.contains("sample_weight")) weight_.push_back(tensor_of_lists(given.at("sample_weight")));
    std::vector<Choice<Loss>> losses;
    for (const json& loss : given.at("loss")) losses.push_back(choice_from<Loss>(loss));
    CompileOptions how{.optimizer = choice_from<Optimizer>(given.at("optimizer")), .loss = losses};
    if (given.contains("loss_weights")) how.loss_weights = given.at("loss_weights").get<std::vector<double>>();
    model_->compile(how);
    model_->set_weights(tensors_from(given.at("weights")));
  }

  /// The outputs for all rows.
  std::vector<Numbers> outputs() const {
    std::vector<Numbers> result;
    for (const Tensor& output : model_->predict_outputs(Batch{x_, {}, {}}, {.batch_size = rows(), .verbose = 0}))
      result.push_back(testing::numbers(output));
    return result;
  }

  /// The gradients of the first batch's loss with respect to the trainable weights. Sets the weights again, because the
  /// step updates moving averages.
  std::vector<Numbers> gradients() const {
    const Batch first = batch(0);
    Tensors inputs;
    for_each_tensor(first, [&](const Tensor& tensor) { inputs.push_back(tensor); });
    testing::Compiled compiled(inputs, [&](Graph&, std::span<const Value> values) {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(x_.size()),
                 end = middle + static_cast<std::ptrdiff_t>(y_.size());
      const StepData data{{values.begin(), middle}, {middle, end}, {end, values.end()}};
      const Value loss = model_->compute_loss(data, (*model_)(data.x, true));
      return testing::Compiled::Outcome{etude::gradients(loss, model_->trainable_variables()), {}};
    });
    compiled.run(inputs);
    std::vector<Numbers> result;
    for (std::size_t i = 0; i < model_->trainable_variables().size(); ++i)
      result.push_back(testing::numbers(compiled.plan().result(i)));
    model_->set_weights(tensors_from(given_.at("weights")));
    return result;
  }

  /// The losses of the first steps of training.
  Numbers train(std::size_t steps) {
    Numbers losses;
    for (std::size_t step = 0; step < steps; ++step)
      losses.push_back(model_->train_on_batch(Data(batch(static_cast<std::int64_t>(step))))["loss"]);
    return losses;
  }

  /// The mean losses of epochs of all rows.
  Numbers fit(int epochs) {
    const auto history = model_->fit(Data(Batch{x_, y_, weight_}),
                                     {.batch_size = batch_size_, .epochs = epochs, .verbose = 0, .shuffle = false});
    return (*history)["loss"];
  }
  std::int64_t batches() const { return rows() / batch_size_; }

 private:
  std::int64_t rows() const { return x_.front().shape()[0]; }
  Batch batch(std::int64_t step) const {
    const std::int64_t begin = step * batch_size_ % rows(), end = begin + batch_size_;
    return {rows_of(x_, begin, end), rows_of(y_, begin, end), rows_of(weight_, begin, end)};
  }

  const json& given_;
  std::int64_t batch_size_;
  ModelPtr model_;
  Tensors x_, y_, weight_;
};

/// The first difference, or an empty text.
std::string compare(const std::string& what, const Numbers& got, const json& want, double allowed) {
  const Numbers numbers = numbers_in(want);
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  const std::string text = testing::difference(got, numbers, {.atol = allowed * (largest + 1e-2)});
  return text.empty() ? "" : what + ": " + text + "; ";
}

std::string compare_all(const std::string& what, const std::vector<Numbers>& got, const json& want, double allowed) {
  if (got.size() != want.size())
    return what + ": " + std::to_string(got.size()) + " instead of " + std::to_string(want.size()) + "; ";
  std::string text;
  for (std::size_t i = 0; i < got.size(); ++i)
    text += compare(what + ' ' + std::to_string(i), got[i], want[i], allowed);
  return text;
}

using Differences = std::string(Case& model, const json& given, const Allowed& allowed);

/// Everything in which a model, trained batch by batch, differs from Keras.
std::string of_steps(Case& model, const json& given, const Allowed& allowed) {
  std::string text = compare_all("output", model.outputs(), given.at("forward"), allowed.forward);
  text += compare_all("gradient", model.gradients(), given.at("gradients"), allowed.gradients);
  text += compare("losses", model.train(given.at("losses").size()), given.at("losses"), allowed.losses);
  return text + compare_all("output after training", model.outputs(), given.at("after"), allowed.after);
}

/// The same for the loss of each epoch of fit, which is the mean over its steps.
std::string of_fit(Case& model, const json& given, const Allowed& allowed) {
  const Numbers steps = given.at("losses");
  const auto each = static_cast<std::size_t>(model.batches());
  Numbers epochs(steps.size() / each);
  for (std::size_t i = 0; i < steps.size(); ++i) epochs[i / each] += steps[i] / static_cast<double>(each);
  return compare("losses of epochs", model.fit(static_cast<int>(epochs.size())), epochs, allowed.losses);
}

void check_models(Differences& differences, const Allowed& allowed) {
  const json file = testing::golden("whole_models.json");
  CHECK(file.at("cases").size() >= 40);
  for (const json& given : file.at("cases")) {
    INFO(given.at("name") << ": " << given.at("model").dump());
    INFO(given.at("optimizer").dump() << ", " << given.at("loss").dump());
    std::string text;
    try {
      Case model(given, file.at("batch_size"));
      text = differences(model, given, allowed);
    } catch (const Error& error) {
      text = error.what();
    }
    CHECK(text == "");
  }
}

}  // namespace

TEST_CASE("whole models of all families of layers compute the numbers of Keras 3", "[golden][whole_models]") {
  const testing::FloatX scope(DType::float64);
  check_models(of_steps, {.forward = 1e-9, .gradients = 1e-9, .losses = 1e-9, .after = 1e-8});
}

TEST_CASE("whole models in float32 compute the numbers of Keras 3 in float64", "[golden][whole_models]") {
  const testing::FloatX scope(DType::float32);
  check_models(of_steps, {.forward = 1e-5, .gradients = 1e-4, .losses = 2e-4, .after = 1e-3});
}

TEST_CASE("fit trains whole models along the curves of Keras 3", "[golden][whole_models]") {
  const testing::FloatX scope(DType::float64);
  check_models(of_fit, {.losses = 1e-9});
}

}  // namespace etude
