#include "layer_subjects.hpp"

#include "support.hpp"

namespace etude::testing {

using nlohmann::json;

const std::map<std::string, Subject>& subjects() {
  const Shape features{3, 4}, steps{3, 5, 4}, image{3, 6, 5, 4}, volume{3, 4, 5, 3, 2};
  const std::map<std::string, Subject> fixed{
      {"Activation", {{features}, {{"activation", "tanh"}}}},
      {"ActivityRegularization", {{features}}},
      {"AdditiveAttention", {{steps, steps}}},
      {"Attention", {{steps, steps}, {{"use_scale", true}, {"score_mode", "concat"}}}},
      {"BatchNormalization", {{features}}},
      {"Bidirectional", {{steps}, {{"merge_mode", "mul"}}}},
      {"CategoryEncoding", {{{3, 5}}, {{"num_tokens", 7}, {"output_mode", "count"}}, true}},
      {"Concatenate", {{features, {3, 2}}}},
      {"Dense", {{features}}},
      {"Discretization", {{features}, {{"output_mode", "count"}}, false, false, false}},
      {"Dot", {{steps, steps}, {{"axes", {2, 2}}, {"normalize", true}}}},
      {"EinsumDense", {{steps}, {{"equation", "abc,cd->abd"}, {"output_shape", {5, 2}}, {"bias_axes", "bd"}}}},
      {"ELU", {{features}, {{"alpha", 0.7}}}},
      {"Embedding", {{{3, 5}}, {{"input_dim", 7}, {"output_dim", 3}}, true}},
      {"Flatten", {{steps}}},
      {"GroupNormalization", {{steps}, {{"groups", 2}}}},
      {"GroupedQueryAttention", {{steps, steps}, {{"use_gate", true}, {"sliding_window", 3}}}},
      {"GRU", {{steps}}},
      {"GRUCell", {{features}}},
      {"LayerNormalization", {{features}}},
      {"Normalization", {{steps}, {{"axis", {1, 2}}}}},
      {"IntegerLookup", {{{3, 5}}, {{"vocabulary", {3, 0, 5}}, {"output_mode", "count"}}, true}},
      {"LSTM", {{steps}, {{"return_sequences", true}}}},
      {"LSTMCell", {{features, {3, 3}, {3, 3}}}},
      {"Masking", {{steps}}},
      {"MelSpectrogram",
       {{{3, 40}},
        {{"fft_length", 16},
         {"sequence_stride", 7},
         {"sampling_rate", 100},
         {"num_mel_bins", 4},
         {"min_freq", 1.0},
         {"power_to_db", false}}}},
      {"MaxNumBoundingBoxes", {{{3, 5, 4}, {3, 5}}}},
      {"MultiHeadAttention", {{steps, steps}}},
      {"Pipeline", {{features}}},
      {"Permute", {{steps}, {{"dims", {2, 1}}}}},
      {"PReLU", {{steps}, {{"shared_axes", {1}}, {"alpha_initializer", "ones"}}}},
      {"RandomFourierFeatures", {{features}, {{"trainable", true}}}},
      {"RepeatVector", {{features}}},
      {"Reshape", {{steps}, {{"target_shape", {2, -1}}}}},
      {"ReversibleEmbedding", {{{3, 5}}, {{"input_dim", 7}, {"output_dim", 3}, {"mask_zero", true}}, true}},
      {"RMSNormalization", {{steps}, {{"axis", {1, 2}}}}},
      {"RNN", {{steps}, {{"return_sequences", true}}}},
      {"SimpleRNN", {{steps}, {{"go_backwards", true}}}},
      {"SimpleRNNCell", {{features}}},
      {"Softmax", {{steps}, {{"axis", {1, 2}}}}},
      {"SpectralNormalization", {{features}}},
      {"STFTSpectrogram", {{{3, 20, 2}}, {{"mode", "psd"}, {"frame_length", 8}, {"padding", "same"}}}},
      {"StackedRNNCells", {{features}}},
      {"TimeDistributed", {{steps}}},
      {"UnitNormalization", {{features}}},
  };
  static const std::map<std::string, Subject> all = [&] {
    std::map<std::string, Subject> result = fixed;
    for (const char* name : {"AlphaDropout", "Dropout", "GaussianDropout", "GaussianNoise", "Identity", "LeakyReLU",
                             "ReLU", "Rescaling", "ThresholdedReLU"})
      result[name] = {{features}};
    for (const char* name : {"AugMix",
                             "AutoContrast",
                             "CenterCrop",
                             "ContrastLimitedAdaptiveHistogramEqualization",
                             "CutMix",
                             "Equalization",
                             "MixUp",
                             "RandAugment",
                             "RandomBrightness",
                             "RandomColorDegeneration",
                             "RandomColorJitter",
                             "RandomContrast",
                             "RandomCrop",
                             "RandomElasticTransform",
                             "RandomErasing",
                             "RandomFlip",
                             "RandomGaussianBlur",
                             "RandomGrayscale",
                             "RandomHue",
                             "RandomInvert",
                             "RandomPerspective",
                             "RandomPosterization",
                             "RandomRotation",
                             "RandomSaturation",
                             "RandomSharpness",
                             "RandomShear",
                             "RandomTranslation",
                             "RandomZoom",
                             "Resizing",
                             "Solarization"})
      result[name] = {{image}};
    for (const char* name : {"Add", "Average", "Maximum", "Minimum", "Multiply"})
      result[name] = {{steps, steps, steps}};
    result["Subtract"] = {{steps, features}};
    const auto spatial = [&](const std::string& name, json config, std::size_t most = 3) {
      const Shape shapes[] = {steps, image, volume};
      for (std::size_t rank = 1; rank <= most; ++rank) {
        const std::size_t at = name.find('*');
        result[std::string(name).replace(at, 1, std::to_string(rank) + "D")] = {{shapes[rank - 1]}, config};
      }
    };
    const json window{{"filters", 4}, {"kernel_size", 2}, {"padding", "same"}, {"strides", 2}};
    spatial("Conv*", {{"filters", 4}, {"kernel_size", 2}, {"dilation_rate", 2}, {"groups", 2}});
    spatial("Conv*Transpose", window);
    spatial("DepthwiseConv*", {{"kernel_size", 2}, {"depth_multiplier", 2}, {"padding", "same"}}, 2);
    spatial("SeparableConv*", {{"filters", 3}, {"kernel_size", 3}, {"depth_multiplier", 2}}, 2);
    spatial("LocallyConnected*", {{"filters", 3}, {"kernel_size", 2}, {"strides", 2}}, 2);
    const json pool{{"pool_size", 3}, {"strides", 2}, {"padding", "same"}};
    spatial("MaxPooling*", pool);
    spatial("AveragePooling*", pool);
    spatial("GlobalMaxPooling*", json::object());
    spatial("GlobalAveragePooling*", {{"keepdims", true}});
    spatial("AdaptiveMaxPooling*", {{"output_size", 2}});
    spatial("AdaptiveAveragePooling*", {{"output_size", 3}});
    spatial("Cropping*", json::object());
    spatial("ZeroPadding*", {{"padding", 2}});
    spatial("UpSampling*", json::object());
    spatial("SpatialDropout*", json::object());
    const json over_steps{{"filters", 2}, {"kernel_size", 2}, {"padding", "same"}, {"return_sequences", true}};
    result["ConvLSTM1D"] = {{{3, 2, 4, 3}}, over_steps};
    result["ConvLSTM2D"] = {{{3, 2, 3, 2, 3}}, over_steps};
    result["ConvLSTM3D"] = {{{3, 2, 2, 3, 2, 2}}, over_steps};
    result["UpSampling2D"].config["interpolation"] = "bilinear";
    result["BatchNormalization"].of_whole_batch = false;  // outside training
    return result;
  }();
  return all;
}

LayerPtr layer_of(const std::string& class_name, const json& config) {
  return from_json<Layer>(json{{"class_name", class_name}, {"config", config}}.dump());
}

std::vector<Tensor> inputs_of(const Subject& subject, std::int64_t batch) {
  Random random = draws(7);
  std::vector<Tensor> inputs;
  for (Shape shape : subject.shapes) {
    shape[0] = batch;
    inputs.push_back(subject.indices ? random_tensor(random, shape, DType::int32, 0, 6)
                                     : random_tensor_off_zero(random, shape, floatx(), 1));
  }
  return inputs;
}

}  // namespace etude::testing
