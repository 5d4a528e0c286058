// The contract that all layers of the table keep within a model: masks of steps, and steps on several replicas.
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "class_lists.hpp"
#include "etude/etude.hpp"
#include "layer_subjects.hpp"
#include "mirrored_samples.hpp"
#include "support.hpp"

namespace etude {
namespace {

using nlohmann::json;
using testing::FloatX;
using testing::Subject;
using testing::subjects;
using Names = std::set<std::string>;

/// A new layer of the class, of its example's options and of those of its subject.
template <class Class> LayerPtr new_layer() {
  json config = json::parse(Class::about.example);
  config.update(subjects().at(Class::about.name).config);
  return testing::layer_of(Class::about.name, config);
}

/// The mask of the first output, for inputs whose first step is masked; empty without one.
Tensor mask_of(Layer& layer, const std::vector<Tensor>& inputs, const Tensor& mask) {
  std::vector<Tensor> all = inputs;
  all.push_back(mask);
  bool has_mask = false;
  testing::Compiled compiled(all, [&](Graph&, std::span<const Value> values) {
    std::vector<Value> masked;
    for (const Value& x : values.first(inputs.size())) masked.push_back(x.with_mask(values.back()));
    const Value y = layer(masked).front();
    has_mask = static_cast<bool>(y.mask());
    return testing::Compiled::Outcome{{has_mask ? y.mask() : y}, {}};
  });
  compiled.run(all);
  return has_mask ? compiled.plan().result(0).clone() : Tensor();
}

// Results of Keras 3.15.1 on JAX, for inputs [batch, steps, ..] with a mask [batch, steps].

/// Layers whose result has the mask of their first input.
const Names keep_masks{"Activation",
                       "ActivityRegularization",
                       "Add",
                       "AdditiveAttention",
                       "AlphaDropout",
                       "Attention",
                       "Average",
                       "BatchNormalization",
                       "Concatenate",
                       "Dense",
                       "Dropout",
                       "ELU",
                       "GaussianDropout",
                       "GaussianNoise",
                       "GroupNormalization",
                       "GroupedQueryAttention",
                       "Identity",
                       "LSTM",
                       "LayerNormalization",
                       "LeakyReLU",
                       "Maximum",
                       "Minimum",
                       "MultiHeadAttention",
                       "Multiply",
                       "Normalization",
                       "PReLU",
                       "Pipeline",  // that of its layers
                       "RNN",
                       "ReLU",
                       "Rescaling",
                       "SpatialDropout1D",
                       "SpectralNormalization",  // that of its layer
                       "ThresholdedReLU",        // of Keras 2
                       "TimeDistributed",
                       "UnitNormalization"};
/// Layers that make masks of their inputs, and those with inputs of other shapes than [batch, steps, ..].
const Names other_masks{"Masking",         "ReversibleEmbedding",   "GRUCell",      "LSTMCell",       "SimpleRNNCell",
                        "StackedRNNCells", "RandomFourierFeatures", "RepeatVector", "MelSpectrogram", "Softmax",
                        "Subtract",        "MaxNumBoundingBoxes"};

/// A layer as a model of one output, times a weight, so that each has something to train.
class OneLayer : public Model {
 public:
  explicit OneLayer(LayerPtr layer) : layer_(std::move(layer)), factor_("factor", Tensor({}, floatx())) {
    factor_.fill(0.5);
  }
  std::vector<LayerPtr> layers() const override { return {layer_}; }
  Value call(Value, bool) override { return {}; }
  Outputs call_with(const std::vector<Value>& inputs, bool training) override {
    const Value y = (*layer_)(inputs, training).front();
    return {ops::cast(y, floatx()) * Graph::current().read(factor_)};
  }

 private:
  LayerPtr layer_;
  Variable factor_;
};

/// The weights after one step of training on some replicas, and its loss.
template <class Class> std::vector<std::vector<double>> trained_on(int replicas) {
  return samples::within(samples::mirrored(replicas), [] {
    set_random_seed(3);
    const auto model = std::make_shared<OneLayer>(new_layer<Class>());
    Subject subject = subjects().at(Class::about.name);
    const std::string_view name = Class::about.name;
    // In training, colors are those of red, green and blue.
    if (name.starts_with("Rand") || name == "AugMix") subject.shapes.front()[-1] = 3;
    const std::vector<Tensor> x = testing::inputs_of(subject, 5);  // 3 and 2 rows
    const Tensor like = model->call_all(x).front();
    Random random = testing::draws(4);
    const Tensor y = testing::random_tensor(random, like.shape(), floatx(), -1, 1);
    model->compile({.optimizer = optimizers::sgd({.learning_rate = 0.1}), .loss = "mse"});
    const auto history = model->fit(Batch{x, {y}, {}}, {.batch_size = 5, .epochs = 1, .verbose = 0, .shuffle = false});
    std::vector<std::vector<double>> results{(*history)["loss"]};
    for (const Tensor& weight : model->get_weights()) results.push_back(testing::numbers(weight));
    return results;
  });
}

/// Layers whose step depends on how the rows are divided, as in Keras: moments, and the other images to mix with, are
/// those of a shard.
const Names of_shards{"BatchNormalization", "CutMix", "MixUp"};

}  // namespace

TEST_CASE("a layer keeps or drops the mask of its input as in Keras 3", "[layers][contract][mask]") {
  testing::each_layer_of_models([&]<class Class>(testing::Tag<Class>) {
    const std::string name = Class::about.name;
    CAPTURE(name);
    Subject subject = subjects().at(name);
    if (subject.shapes.front().rank() > 3 || other_masks.contains(name)) return;
    // Layers of features are called on steps of them.
    for (Shape& shape : subject.shapes)
      if (!subject.indices && shape.rank() == 2) shape = {shape[0], 5, shape[1]};
    const std::vector<Tensor> inputs = testing::inputs_of(subject, 2);
    std::vector<double> steps(static_cast<std::size_t>(2 * inputs.front().shape()[1]), 1);
    steps.front() = 0;
    const Tensor mask = testing::tensor_of({2, inputs.front().shape()[1]}, DType::boolean, steps);
    const Tensor kept = mask_of(*new_layer<Class>(), inputs, mask);
    if (keep_masks.contains(name))
      CHECK(testing::same_bits(kept, mask));
    else
      CHECK_FALSE(kept.size() > 1);
  });
}

TEST_CASE("one step of training changes a layer on two replicas as on one", "[layers][contract][distribute]") {
  const FloatX doubles(DType::float64);
  testing::each_layer_of_models([&]<class Class>(testing::Tag<Class>) {
    const std::string name = Class::about.name;
    CAPTURE(name);
    const auto one = trained_on<Class>(1), two = trained_on<Class>(2);
    REQUIRE(one.size() == two.size());
    double largest = 0;
    for (std::size_t i = 0; i < one.size(); ++i) largest = std::max(largest, samples::distance(two[i], one[i]));
    CHECK((largest < 1e-6) != of_shards.contains(name));
  });
}

}  // namespace etude
