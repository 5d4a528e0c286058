#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "etude/etude.hpp"
#include "support.hpp"

// Conv2D and MaxPooling2D: tests that the cases of other libraries do not cover.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::difference;
using testing::error_of;

Tensor image(const Shape& shape) {
  Random random = testing::draws(3);
  return testing::random_tensor(random, shape, DType::float32);
}

/// The same numbers with the channels second.
Tensor channels_first(const Tensor& x) {
  return testing::run({x}, [](std::span<const Value> v) { return ops::transpose(v[0], {0, 3, 1, 2}); });
}

}  // namespace

TEST_CASE("Conv2D computes the same for channels_first and channels_last", "[layers][convolution]") {
  const Tensor x = image({2, 7, 6, 4});
  for (const char* padding : {"valid", "same"}) {
    const ConvolutionOptions options{.filters = 6,
                                     .kernel_size = {3, 2},
                                     .strides = {2, 1},
                                     .padding = padding,
                                     .groups = 2,
                                     .activation = "tanh",
                                     .bias_initializer = "ones"};
    ConvolutionOptions first = options;
    first.data_format = "channels_first";
    const LayerPtr last = layers::conv2d(options), other = layers::conv2d(first);
    const Tensor y = (*last)(x);
    (*other)(channels_first(x));
    other->set_weights(last->get_weights());
    CHECK(testing::same_bits((*other)(channels_first(x)), channels_first(y)));
    CHECK(last->get_weights()[0].shape() == Shape{3, 2, 2, 6});
    CHECK(last->count_params() == 3 * 2 * 2 * 6 + 6);
  }
}

// Source: keras/src/layers/convolutional/base_conv.py, call.
TEST_CASE("softmax of a convolution is along the last axis, also for channels_first", "[layers][convolution]") {
  const std::string first = "channels_first", softmax = "softmax";
  for (const LayerPtr& layer :
       {layers::conv2d({.filters = 3, .kernel_size = 2, .data_format = first, .activation = softmax}),
        layers::separable_conv2d({.filters = 3, .kernel_size = 2, .data_format = first, .activation = softmax}),
        layers::depthwise_conv2d({.kernel_size = 2, .data_format = first, .activation = softmax}),
        layers::conv2d_transpose({.filters = 3, .kernel_size = 2, .data_format = first, .activation = softmax})}) {
    const Tensor y = (*layer)(image({1, 2, 5, 4}));
    const auto all = testing::numbers(y);
    const auto width = static_cast<std::size_t>(y.shape()[-1]);
    for (std::size_t i = 0; i < all.size(); i += width) {
      double sum = 0;
      for (std::size_t at = i; at < i + width; ++at) sum += all[at];
      CHECK(std::abs(sum - 1) < 1e-6);
    }
  }
}

TEST_CASE("a kernel's fans count the cells of its window (A-4)", "[layers][initializers][convolution]") {
  const LayerPtr layer = layers::conv2d({.filters = 40, .kernel_size = 5, .kernel_initializer = "glorot_uniform"});
  (*layer)(image({1, 5, 5, 20}));
  const double limit = std::sqrt(6.0 / (25 * (20 + 40)));
  double largest = 0;
  for (const double weight : testing::numbers(layer->get_weights()[0])) largest = std::max(largest, std::fabs(weight));
  CHECK(largest <= limit);
  CHECK(largest > 0.99 * limit);
}

TEST_CASE("Conv2D without a bias has one weight, and frozen none that is trained", "[layers][convolution]") {
  const LayerPtr layer = layers::conv2d({.filters = 2, .kernel_size = 1, .use_bias = false, .trainable = false});
  (*layer)(image({1, 3, 3, 2}));
  CHECK(layer->weights().size() == 1);
  CHECK(layer->trainable_variables().empty());
  CHECK(layer->name().starts_with("conv2d"));
  CHECK(layers::max_pooling2d()->name().starts_with("max_pooling2d"));
}

TEST_CASE("the default strides of MaxPooling2D are its window", "[layers][convolution]") {
  const Tensor x = image({1, 7, 9, 2});
  const auto shape = [&](PoolingOptions options) { return (*layers::max_pooling2d(std::move(options)))(x).shape(); };
  CHECK(shape({}) == Shape{1, 3, 4, 2});
  CHECK(shape({.pool_size = {2, 3}}) == Shape{1, 3, 3, 2});
  CHECK(shape({.pool_size = 3, .strides = 1}) == Shape{1, 5, 7, 2});
  CHECK(shape({.pool_size = 2, .padding = "same"}) == Shape{1, 4, 5, 2});
  CHECK(shape({.pool_size = 2, .data_format = "channels_first"}) == Shape{1, 7, 4, 1});
}

TEST_CASE("a model of convolutions learns, fused and op by op alike", "[layers][training][convolution]") {
  // Whether the upper or the lower half of an image is brighter.
  Random random = testing::draws(5);
  Tensor x = testing::random_tensor(random, {64, 8, 8, 1}, DType::float32, 0, 1), y({64, 1});
  for (std::int64_t n = 0; n < 64; ++n) {
    y.data<float>()[static_cast<std::size_t>(n)] = n % 2 ? 1.0F : 0.0F;
    for (std::int64_t i = 0; i < 32; ++i) x.data<float>()[static_cast<std::size_t>(n * 64 + (n % 2) * 32 + i)] += 0.5F;
  }
  const auto train = [&](bool eagerly, int epochs) {
    set_random_seed(4);
    Sequential model({layers::conv2d({.filters = 4, .kernel_size = 3, .padding = "same", .activation = "relu"}),
                      layers::max_pooling2d({}), layers::conv2d({.filters = 8, .kernel_size = 3, .activation = "relu"}),
                      layers::max_pooling2d({}), layers::flatten(),
                      layers::dense({.units = 1, .activation = "sigmoid"})});
    model.compile({.optimizer = optimizers::adam({.learning_rate = 0.01}),
                   .loss = "binary_crossentropy",
                   .run_eagerly = eagerly});
    return (*model.fit(x, y, {.batch_size = 16, .epochs = epochs, .verbose = 0, .shuffle = false}))["loss"];
  };
  const auto losses = train(false, 30);
  CHECK(losses.back() < 0.3 * losses.front());
  const auto eager = train(true, 2);
  CHECK(eager[0] == losses[0]);
  CHECK(eager[1] == losses[1]);
}

TEST_CASE("Conv2D and MaxPooling2D refuse inputs and options that do not fit", "[layers][convolution][errors]") {
  const auto made = [](ConvolutionOptions options) { return error_of([&] { layers::conv2d(options); }); };
  CHECK_THAT(made({.kernel_size = 3}), ContainsSubstring("filters = 0"));
  CHECK_THAT(made({.filters = 4}), ContainsSubstring("kernel_size = none"));
  CHECK_THAT(made({.filters = 4, .kernel_size = {3, -1}}), ContainsSubstring("kernel_size = [3, -1]"));
  CHECK_THAT(made({.filters = 5, .kernel_size = 3, .groups = 2}), ContainsSubstring("groups = 2"));
  CHECK_THAT(made({.filters = 4, .kernel_size = 3, .strides = 0}), ContainsSubstring("strides = 0"));
  CHECK_THAT(made({.filters = 4, .kernel_size = 3, .strides = 2, .dilation_rate = {1, 2}}),
             ContainsSubstring("strides = 2 with dilation_rate = [1, 2]"));
  CHECK_THAT(made({.filters = 4, .kernel_size = 3, .padding = "causal"}), ContainsSubstring("padding = \"causal\""));
  CHECK_THAT(made({.filters = 4, .kernel_size = 3, .data_format = "nchw"}),
             ContainsSubstring("data_format = \"nchw\""));
  CHECK_THAT(made({.filters = 4, .kernel_size = 3, .activation = "rleu"}), ContainsSubstring("rleu"));
  CHECK_THAT(error_of([] { layers::max_pooling2d({.pool_size = 0}); }), ContainsSubstring("pool_size = 0"));
  CHECK_THAT(error_of([] { layers::max_pooling2d({.strides = {1, 0}}); }), ContainsSubstring("strides = [1, 0]"));

  const LayerPtr layer = layers::conv2d({.filters = 4, .kernel_size = 3, .name = "c"});
  CHECK(error_of([&] { (*layer)(image({2, 9})); }) ==
        "[Conv2D \"c\"] input of shape [2, 9] - expected [batch, height, width, channels] - reshape the data, with an "
        "axis of 1 for a single channel.");
  (*layer)(image({1, 5, 5, 2}));
  CHECK(error_of([&] { (*layer)(image({1, 5, 5, 3})); }) ==
        "[Conv2D \"c\"] expected input of 2 channels, received shape [1, 5, 5, 3]. The layer was built for 2 channels; "
        "build a new layer or check the data.");
  CHECK(error_of([&] { (*layer)(image({1, 2, 5, 2})); }) ==
        "[Conv2D \"c\"] a window of 3 x 3 for an input of 2 x 5 - expected a window that is not larger - use a smaller "
        "one, "
        "or padding = \"same\".");
  CHECK_THAT(error_of([] { (*layers::conv2d({.filters = 4, .kernel_size = 1, .groups = 2}))(image({1, 2, 2, 3})); }),
             ContainsSubstring("3 channels"));
  CHECK_THAT(error_of([] { (*layers::max_pooling2d({.pool_size = 4, .name = "p"}))(image({1, 3, 8, 1})); }),
             ContainsSubstring("a window of 4 x 4 for an input of 3 x 8"));
}

TEST_CASE("windows and strides much larger than the input take no memory for them", "[layers][convolution]") {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const Tensor x = image({1, 4, 3, 2});
  const Tensor mean = (*layers::global_average_pooling2d({.keepdims = true}))(x);
  const auto averaged = layers::average_pooling2d({.pool_size = most, .padding = "same"});
  CHECK(difference((*averaged)(x), mean) == "");
  const Tensor sliding = (*layers::average_pooling2d({.pool_size = most, .strides = 1, .padding = "same"}))(x);
  CHECK(sliding.shape() == x.shape());
  CHECK((*layers::conv3d({.filters = 1, .kernel_size = 2, .strides = most}))(image({1, 3, 3, 3, 1})).shape() ==
        Shape{1, 1, 1, 1, 1});
  CHECK_THAT(error_of([&] { (*layers::up_sampling2d({.size = most, .interpolation = "bilinear"}))(x); }),
             ContainsSubstring("expected at most 4096"));
}

TEST_CASE("by default Cropping2D cuts nothing, and other croppings an entry at each end, as in Keras", "[layers]") {
  CHECK((*layers::cropping1d())(image({1, 5, 2})).shape() == Shape{1, 3, 2});
  CHECK((*layers::cropping2d())(image({1, 5, 4, 2})).shape() == Shape{1, 5, 4, 2});
  CHECK((*layers::cropping3d())(image({1, 5, 4, 3, 2})).shape() == Shape{1, 3, 2, 1, 2});
}

}  // namespace etude
