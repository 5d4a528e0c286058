#include "reliability/random_model.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "config_samples.hpp"
#include "etude/etude.hpp"

namespace etude::testing {
namespace {

using Names = std::vector<std::string>;

/// All options of a class with their defaults.
template <class T> const Config& defaults(const std::string& class_name) {
  static std::map<std::string, Config> known;
  const auto found = known.find(class_name);
  if (found != known.end()) return found->second;
  const Config least{{"class_name", class_name}, {"config", samples::needed(class_name)}};
  return known[class_name] = Config::parse(to_json(*from_json<T>(least.dump())));
}

/// An object of any class of a kind, in half of the cases only by its name.
template <class T> Config any_of(Draws& draw) {
  const std::string class_name = draw.of(class_names<T>());
  return draw.chance(50) ? Config(class_name) : random_object<T>(draw, class_name);
}

const Names activations{"linear", "relu", "sigmoid", "tanh", "softmax", "gelu", "elu", "selu", "softplus", "swish"};

/// Valid values of a field, by its name; null for unknown names.
Config sound_value(Draws& draw, const std::string& field) {
  if (field == "units" || field == "filters" || field == "output_dim" || field == "key_dim" || field == "value_dim")
    return 1 + draw.below(5);
  if (field == "height" || field == "width") return 1 + draw.below(6);
  if (field == "num_heads") return 1 + draw.below(3);
  if (field == "frame_length") return 2 + draw.below(2);
  if (field == "fft_length") return 2 * (1 + draw.below(2));
  if (field == "kernel_size" || field == "pool_size")
    return draw.chance(50) ? Config(1 + draw.below(3)) : Config{1 + draw.below(3), 1 + draw.below(2)};
  if (field == "padding") return draw.of(Names{"valid", "same"});
  if (field == "data_format") return draw.of(Names{"channels_last", "channels_last", "channels_first"});
  if (field == "dtype") return draw.of(Names{"float32", "float32", "float32", "mixed_bfloat16", "mixed_float16"});
  if (field == "reduction") return draw.of(Names{"sum_over_batch_size", "sum", "mean"});
  if (field.ends_with("activation")) return draw.of(activations);
  if (field.ends_with("kernel_initializer")) return any_of<Initializer>(draw);
  if (field.ends_with("initializer")) return draw.of(Names{"zeros", "ones", "random_normal", "glorot_uniform"});
  if (field == "activity_regularizer") return draw.of(std::vector<Config>{nullptr, nullptr, "L1", "L2", "L1L2"});
  if (field.ends_with("regularizer")) return draw.chance(70) ? Config(nullptr) : any_of<Regularizer>(draw);
  if (field.ends_with("constraint")) return draw.chance(80) ? Config(nullptr) : any_of<Constraint>(draw);
  if (field == "dropout" || field == "recurrent_dropout" || field == "rate") return draw.chance(50) ? 0.0 : 0.25;
  if (field == "seed") return draw.below(1000);
  if (field == "clipnorm" || field == "clipvalue" || field == "global_clipnorm")
    return draw.chance(80) ? Config(nullptr) : Config(1.0);
  return nullptr;
}

const std::vector<Config> junk{nullptr,
                               true,
                               -1,
                               0,
                               1,
                               2147483648,
                               4294967297,
                               4611686018427387904,
                               9223372036854775807,
                               -9223372036854775807 - 1,
                               std::numeric_limits<std::uint64_t>::max(),
                               1e308,
                               1e-320,
                               -0.0,
                               0.5,
                               "",
                               "x",
                               "relu",
                               "Dense",
                               "mixed_float16",
                               "\n\"\\",
                               std::string(1, '\0'),
                               std::string(300, 'a'),
                               Config::array(),
                               Config::object(),
                               {1, 2, 3},
                               {0, -1},
                               {{1, 2}, {3}},
                               {{"class_name", "Dense"}},
                               {{"class_name", "Dense"}, {"config", nullptr}}};

/// All nodes of a config.
void collect(Config& node, std::vector<Config*>& nodes) {
  nodes.push_back(&node);
  if (node.is_structured())
    for (Config& child : node) collect(child, nodes);
}

void spoil_node(Config& node, Draws& draw) {
  switch (draw.below(6)) {
    case 0:
      if (node.is_object() && !node.empty())
        node.erase(std::next(node.begin(), static_cast<std::ptrdiff_t>(draw.below(node.size()))));
      return;
    case 1:
      if (node.is_object())
        node[draw.of(Names{"units", "config", "class_name", "unknown", "layers", "name"})] = draw.of(junk);
      return;
    case 2:
      if (node.is_array() && !node.empty()) node.push_back(Config(node[draw.below(node.size())]));
      return;
    default: node = draw.of(junk);
  }
}

/// The axes behind the batch axis of inputs that a class is for; 0: any.
std::size_t rank_of(const std::string& class_name) {
  for (std::size_t axes = 1; axes <= 3; ++axes)
    if (class_name.find(std::to_string(axes) + "D") != std::string::npos)
      return axes + (class_name.starts_with("ConvLSTM") ? 2 : 1);
  if (class_name.starts_with("Random") && class_name != "RandomFourierFeatures") return 3;
  static const std::map<std::string, std::size_t> others{{"AugMix", 3},
                                                         {"AutoContrast", 3},
                                                         {"CenterCrop", 3},
                                                         {"ContrastLimitedAdaptiveHistogramEqualization", 3},
                                                         {"CutMix", 3},
                                                         {"Equalization", 3},
                                                         {"MixUp", 3},
                                                         {"RandAugment", 3},
                                                         {"Resizing", 3},
                                                         {"Solarization", 3},
                                                         {"CategoryEncoding", 1},
                                                         {"AdditiveAttention", 2},
                                                         {"Attention", 2},
                                                         {"Bidirectional", 2},
                                                         {"Dot", 1},
                                                         {"EinsumDense", 1},
                                                         {"GroupedQueryAttention", 2},
                                                         {"GRU", 2},
                                                         {"GRUCell", 2},
                                                         {"LSTM", 2},
                                                         {"LSTMCell", 2},
                                                         {"MaxNumBoundingBoxes", 2},
                                                         {"MelSpectrogram", 1},
                                                         {"MultiHeadAttention", 2},
                                                         {"Permute", 1},
                                                         {"RepeatVector", 1},
                                                         {"RNN", 2},
                                                         {"SimpleRNN", 2},
                                                         {"SimpleRNNCell", 2},
                                                         {"StackedRNNCells", 2},
                                                         {"STFTSpectrogram", 2},
                                                         {"TimeDistributed", 2}};
  const auto found = others.find(class_name);
  return found == others.end() ? 0 : found->second;
}

/// Replaces values that a class with another number of axes has.
void suit(Config& config, const std::string& class_name) {
  if (rank_of(class_name) == 3) return;
  for (const char* field : {"kernel_size", "pool_size", "strides"})
    if (config.contains(field) && config[field].is_array()) config[field] = config[field].front();
}

bool takes_several(const std::string& class_name) {
  const Names names{"Add",
                    "AdditiveAttention",
                    "Attention",
                    "Average",
                    "Concatenate",
                    "Dot",
                    "GroupedQueryAttention",
                    "Maximum",
                    "Minimum",
                    "Multiply",
                    "MultiHeadAttention",
                    "Subtract"};
  return std::ranges::find(names, class_name) != names.end();
}

/// The layers in sequence between an input and its end.
class Chain {
 public:
  explicit Chain(Draws& draw) : draw_(draw) {}

  /// Starts with an input that a class accepts.
  void begin(const std::string& featured) {
    const std::size_t wanted = rank_of(featured), rank = wanted ? wanted : 1 + draw_.below(3);
    const bool spatial = rank > 2 || featured.ends_with("1D") || featured.ends_with("1DTranspose");
    model.tokens = featured == "Embedding" || (rank == 2 && !takes_several(featured) && !spatial && draw_.chance(20));
    const auto extent = [&] { return static_cast<std::int64_t>(1 + draw_.below(5)); };
    if (model.tokens) {
      model.input = {extent() + 1};
      rank_ = 1;
    } else {
      rank_ = rank;
      for (std::size_t i = 0; i < rank; ++i) model.input.append(extent() + (spatial && i + 1 < rank ? 3 : 0));
    }
  }

  /// The config of a layer that may come next.
  Config next(const std::string& wanted = {}) {
    std::string class_name = wanted;
    if (model.tokens && rank_ == 1 && !embedded_) {
      class_name = "Embedding";
      embedded_ = true;
      rank_ = 2;
    } else if (class_name.empty()) {
      class_name = draw_.of(draw_.chance(5) ? class_names<Layer>() : possible());
    }
    Config layer = random_object<Layer>(draw_, class_name);
    if (class_name == "Embedding") layer["config"]["input_dim"] = 7;
    suit(layer["config"], class_name);
    model.classes.insert(class_name);
    if (class_name.ends_with("Cell") || class_name.ends_with("Cells")) {
      layer = {{"class_name", "RNN"}, {"config", {{"cell", layer}}}};
      class_name = "RNN";
    }
    follow(class_name, layer["config"]);
    return layer;
  }

  /// A sequential model in the place of a layer.
  Config nested() {
    Config layers = Config::array();
    for (std::size_t i = draw_.below(3); i > 0; --i) layers.push_back(next());
    return {{"class_name", "Sequential"},
            {"config", {{"name", "nested_" + std::to_string(draw_.below(1000))}, {"layers", layers}}}};
  }

  RandomModel model;

 private:
  static bool is_recurrent(const std::string& name) {
    return name == "LSTM" || name == "GRU" || name == "SimpleRNN" || name == "RNN" || name.starts_with("ConvLSTM");
  }

  Names possible() const {
    Names names{"Dense",         "Dense",     "Activation", "BatchNormalization", "LayerNormalization", "Dropout",
                "GaussianNoise", "Rescaling", "Flatten"};
    if (rank_ == 1) names.insert(names.end(), {"EinsumDense", "RepeatVector"});
    if (rank_ == 2) names.insert(names.end(), {"LSTM", "GRU", "SimpleRNN", "GlobalAveragePooling1D", "Bidirectional"});
    if (rank_ == 3)
      names.insert(names.end(), {"Conv2D", "Conv2D", "MaxPooling2D", "AveragePooling2D", "ZeroPadding2D"});
    if (rank_ == 4) names.insert(names.end(), {"Conv3D", "MaxPooling3D"});
    return names;
  }

  /// The rank of a layer's result.
  void follow(const std::string& class_name, const Config& config) {
    if (class_name == "Flatten" || class_name == "Reshape") rank_ = 1;
    if (class_name == "RepeatVector" || class_name == "MelSpectrogram") rank_ = 2;
    if (class_name == "STFTSpectrogram" && config.value("expand_dims", false)) rank_ = 3;
    if (class_name.starts_with("Global") && !config.value("keepdims", false)) rank_ = 1;
    if (class_name == "Bidirectional") rank_ = 1;
    if (is_recurrent(class_name) && !config.value("return_sequences", false))
      rank_ = std::max<std::size_t>(rank_, 2) - 1;
  }

  Draws& draw_;
  std::size_t rank_ = 1;
  bool embedded_ = false;
};

Config sequential(Chain& chain, Draws& draw, const std::string& featured) {
  Config layers = Config::array();
  if (chain.model.tokens && featured != "Embedding") layers.push_back(chain.next());
  layers.push_back(chain.next(featured));
  for (std::size_t i = draw.below(4); i > 0; --i) layers.push_back(draw.chance(12) ? chain.nested() : chain.next());
  Config config{{"name", draw.chance(50) ? "model" : ""}, {"trainable", draw.chance(90)}, {"layers", layers}};
  if (draw.chance(40)) {
    config["build_input_shape"] = {nullptr};
    for (const std::int64_t extent : chain.model.input) config["build_input_shape"].push_back(extent);
  }
  return {{"class_name", "Sequential"}, {"config", config}};
}

/// Layers called on each other: some on several tensors, some twice.
Config functional(Chain& chain, Draws& draw, const std::string& featured) {
  const SymbolicTensor in =
      layers::input({.shape = chain.model.input, .dtype = chain.model.tokens ? "int32" : "", .name = "in"});
  std::vector<SymbolicTensor> made{in};
  const auto call = [&](const Config& json) {
    const LayerPtr layer = from_json<Layer>(json.dump());
    const std::string class_name = json["class_name"];
    const SymbolicTensor last = made.back();
    const bool several = takes_several(class_name);
    if (several)
      made.push_back(layer->apply({last, draw.chance(70) ? last : draw.of(made)}));
    else
      made.push_back(layer->apply(last));
    if (!several && draw.chance(15)) made.push_back(layer->apply(made.back()));
  };
  if (chain.model.tokens && featured != "Embedding") call(chain.next());
  call(chain.next(featured));
  for (std::size_t i = draw.below(3); i > 0; --i) call(chain.next());
  std::vector<SymbolicTensor> outputs{made.back()};
  if (draw.chance(15)) outputs.push_back(draw.of(made));
  return Config::parse(to_json<Layer>(Functional({in}, outputs)));
}

}  // namespace

template <class T> Config random_object(Draws& draw, const std::string& class_name) {
  Config object = defaults<T>(class_name);
  for (auto& [field, value] : object["config"].items()) {
    if (field == "name") {
      value = "";
      continue;
    }
    if (draw.chance(60)) continue;
    if (value.is_boolean() && field != "trainable" && field != "return_state") value = draw.chance(50);
    const Config sound = sound_value(draw, field);
    if (!sound.is_null()) value = sound;
  }
  return object;
}
template Config random_object<Layer>(Draws&, const std::string&);
template Config random_object<Loss>(Draws&, const std::string&);
template Config random_object<Metric>(Draws&, const std::string&);
template Config random_object<Optimizer>(Draws&, const std::string&);
template Config random_object<Initializer>(Draws&, const std::string&);
template Config random_object<Regularizer>(Draws&, const std::string&);
template Config random_object<Constraint>(Draws&, const std::string&);

void spoil(Config& config, Draws& draw) {
  for (std::size_t i = 1 + draw.below(3); i > 0; --i) {
    std::vector<Config*> nodes;
    collect(config, nodes);
    spoil_node(*draw.of(nodes), draw);
  }
}

RandomModel random_model(Draws& draw, const std::string& featured) {
  Chain chain(draw);
  chain.begin(featured);
  Config config = takes_several(featured) || draw.chance(25) ? functional(chain, draw, featured)
                                                             : sequential(chain, draw, featured);
  chain.model.spoilt = draw.chance(30);
  if (chain.model.spoilt) spoil(config, draw);
  chain.model.text = config.dump(-1, ' ', false, Config::error_handler_t::replace);
  return chain.model;
}

}  // namespace etude::testing
