#include "etude/saving/detail/keras_assets.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "etude/base/detail/utf8.hpp"
#include "etude/base/error.hpp"
#include "etude/classes/detail/snake_case.hpp"
#include "etude/layers/preprocessing_layer.hpp"
#include "etude/saving/detail/keras_store.hpp"

namespace etude {
namespace {

constexpr std::array<std::string_view, 4> adapting{"IntegerLookup", "StringLookup", "TextVectorization",
                                                   "Discretization"};

/// A member of an object; null if there is none.
Json* member(Json& json, const char* name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found == json.end() ? nullptr : &*found;
}
/// A member of the config of a layer; null if there is none.
Json* option_in(Json& layer, const char* name) {
  Json* config = member(layer, "config");
  return config ? member(*config, name) : nullptr;
}

/// The layers of a config of a model; none for other layers.
std::vector<Json*> layers_in(Json& model) {
  std::vector<Json*> layers;
  if (Json* list = option_in(model, "layers"); list && list->is_array())
    for (Json& each : *list) layers.push_back(&each);
  return layers;
}

/// Calls `visit` for each layer whose config has what it found in data, in a model and in the models within, with its
/// path: "layers/…/".
void visit_adapting(Json& model, const std::string& path, const std::function<void(Json&, const std::string&)>& visit) {
  std::map<std::string, int> counts;
  for (Json* layer : layers_in(model)) {
    const std::string class_name = text_in(*layer, "class_name"), kind = snake_case(class_name);
    const int number = counts[kind]++;
    const std::string place = path + "layers/" + kind + (number ? '_' + std::to_string(number) : "") + '/';
    if (std::ranges::find(adapting, class_name) == adapting.end())
      visit_adapting(*layer, place, visit);
    else if (member(*layer, "config") && layer->at("config").is_object())
      visit(*layer, place);
  }
}

/// The lines of a text. Those without characters at its end do not count, as in Keras.
std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    begin = end + 1;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// The token of an option as a line of a vocabulary.
std::string line_of(const Json& token) {
  if (token.is_null()) return "";
  return token.is_string() ? token.get<std::string>() : json_text(token);
}

/// A vocabulary as the option of a layer.
Json vocabulary_of(const std::vector<std::string>& lines, bool of_integers, const std::string& path) {
  Json vocabulary = Json::array();
  for (const std::string& line : lines) {
    if (!of_integers) {
      check(is_utf8(line), ErrorKind::data, path, "line ", vocabulary.size(),
            " is no UTF-8 - expected one token a line - check the file.");
      vocabulary.push_back(line);
      continue;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
    check(error == std::errc() && end == line.data() + line.size(), ErrorKind::data, path, "line ", vocabulary.size(),
          " is \"", line.substr(0, 40), "\" - expected an integer of 64 bits - check the file.");
    vocabulary.push_back(number);
  }
  return vocabulary;
}

// ---- Layers of strings ----

constexpr std::array<std::string_view, 3> string_layers{"StringLookup", "TextVectorization", "Hashing"};

bool is_string_layer(const Json& layer) {
  const Json& config = member_in(layer, "config");
  return std::ranges::find(string_layers, text_in(layer, "class_name")) != string_layers.end() &&
         member_in(config, "name").is_string() && member_in(config, "invert") != true;
}
bool is_string_input(const Json& layer) {
  return text_in(layer, "class_name") == "InputLayer" && text_in(member_in(layer, "config"), "dtype") == "string";
}

/// An input of the results of a layer of strings.
Json input_of_results(const Json& layer, Json shape) {
  Json input = parse_json(R"({"class_name": "InputLayer", "config": {"dtype": "int32"}, "inbound_nodes": []})", "");
  const Json& of_layer = member_in(layer, "config");
  const Json &name = member_in(of_layer, "name"), &mode = member_in(of_layer, "output_mode");
  Json& config = input["config"];
  config["batch_shape"] = std::move(shape);
  if (!mode.is_null() && mode != "int") config["dtype"] = "float32";
  config["name"] = name;
  input["name"] = name;
  return input;
}

/// The shape of the only input of a layer that follows a layer of strings.
Json input_shape_of(Json& layer) {
  const Json& known = member_in(member_in(layer, "build_config"), "input_shape");
  if (known.is_array()) return known;
  const std::vector<Json*> inside = layers_in(layer);
  Json* shape = inside.empty() ? nullptr : option_in(*inside.front(), "batch_shape");
  return shape ? *shape : Json();
}

std::vector<Json> take_from_sequential(Json& model) {
  std::vector<Json> taken;
  if (layers_in(model).empty()) return taken;
  Json& layers = model["config"]["layers"];
  const std::size_t first = is_string_input(layers.front()) ? 1 : 0;
  if (first == layers.size() || !is_string_layer(layers[first])) return taken;
  if (first == 0 && text_in(layers.front(), "class_name") == "Hashing") return taken;  // it may have integers
  taken.push_back(layers[first]);
  Json shape = first + 1 < layers.size() ? input_shape_of(layers[first + 1]) : Json();
  Json remaining = Json::array({input_of_results(taken.front(), shape)});
  for (std::size_t i = first + 1; i < layers.size(); ++i) remaining.push_back(std::move(layers[i]));
  layers = std::move(remaining);
  model["config"]["build_input_shape"] = std::move(shape);
  return taken;
}

/// Calls `visit` for each tensor among the arguments of a call: its config, with its history.
void visit_tensors(Json& arguments, const std::function<void(Json&)>& visit) {
  if (text_in(arguments, "class_name") == "__keras_tensor__" && member(arguments, "config"))
    return visit(arguments["config"]);
  if (arguments.is_structured())
    for (Json& each : arguments) visit_tensors(each, visit);
}

/// The name of the layer that gives a tensor.
std::string source_of(Json& tensor) {
  const Json& history = member_in(tensor, "keras_history");
  return history.is_array() && !history.empty() && history.front().is_string() ? history.front().get<std::string>()
                                                                               : "";
}

std::vector<Json> take_from_functional(Json& model) {
  std::set<std::string> inputs;
  for (Json* layer : layers_in(model))
    if (is_string_input(*layer)) inputs.insert(text_in(*layer, "name"));
  std::map<std::string, std::vector<std::string>> results;  // the layers of each input
  std::map<std::string, Json> shapes;                       // of what they give
  for (Json* layer : layers_in(model)) {
    std::set<std::string> sources;
    if (Json* nodes = member(*layer, "inbound_nodes"))
      visit_tensors(*nodes, [&](Json& tensor) {
        sources.insert(source_of(tensor));
        if (tensor.contains("shape")) shapes.emplace(source_of(tensor), tensor["shape"]);
      });
    if (sources.size() == 1 && inputs.contains(*sources.begin()) && is_string_layer(*layer))
      results[*sources.begin()].push_back(text_in(*layer, "name"));
    else
      for (const std::string& source : sources) inputs.erase(source);  // a layer that has the strings themselves
  }
  std::vector<Json> taken;
  std::set<std::string> of_strings;
  for (const std::string& input : inputs) of_strings.insert(results[input].begin(), results[input].end());
  if (of_strings.empty()) return taken;
  Json remaining = Json::array();
  for (Json* layer : layers_in(model)) {
    const std::string name = text_in(*layer, "name");
    if (inputs.contains(name)) continue;
    if (of_strings.contains(name)) {
      taken.push_back(*layer);
      remaining.push_back(input_of_results(*layer, shapes[name]));
    } else {
      remaining.push_back(std::move(*layer));
    }
  }
  model["config"]["layers"] = std::move(remaining);
  // One input alone is not in a list.
  Json& listed = model["config"]["input_layers"];
  const auto replaced = [&](const Json& history) {
    Json histories = Json::array();
    const std::string name =
        history.is_array() && !history.empty() && history.front().is_string() ? history.front().get<std::string>() : "";
    if (!inputs.contains(name)) return Json::array({history});
    for (const std::string& each : results[name]) histories.push_back({each, 0, 0});
    return histories;
  };
  Json all = listed.is_object() ? Json::object() : Json::array();
  if (listed.is_array() && !listed.empty() && listed.front().is_string()) listed = Json::array({listed});
  for (const auto& [key, history] : listed.items())
    for (Json& each : replaced(history)) {
      if (!listed.is_object())
        all.push_back(std::move(each));
      else if (each == history)
        all[key] = std::move(each);
      else
        all[each.front().get<std::string>()] = Json(each);
    }
  listed = std::move(all);
  return taken;
}

}  // namespace

void add_vocabularies(Json& model, const KerasAssets& assets, const std::string& where) {
  visit_adapting(model, "", [&](Json& layer, const std::string& place) {
    Json& config = layer["config"];
    if (!member_in(config, "vocabulary").is_null()) return;
    std::string path = place;
    std::optional<std::string> text = assets.text("assets/" + path + "vocabulary.txt");
    if (!text) text = assets.text("assets/" + (path = old_keras_path(place)) + "vocabulary.txt");
    if (!text) return;
    const std::string class_name = text_in(layer, "class_name");
    const bool vectorizes = class_name == "TextVectorization";
    const std::vector<std::string> lines = lines_of(*text);
    const std::string mask = vectorizes ? "" : line_of(member_in(config, "mask_token")),
                      unknown = vectorizes ? "[UNK]" : line_of(member_in(config, "oov_token"));
    // A layer that has not adapted to data has no others.
    if (std::ranges::all_of(lines, [&](const std::string& line) { return line == mask || line == unknown; })) return;
    config["vocabulary"] = vocabulary_of(lines, class_name == "IntegerLookup", where + "/assets/" + path);
    if (text_in(config, "output_mode") != "tf_idf") return;
    const std::optional<Tensor> numbers = assets.weights(path + "vars/idf_weights");
    config["idf_weights"] = Json::array();
    for (std::int64_t i = 0; numbers && i < numbers->size(); ++i) config["idf_weights"].push_back(numbers->at(i));
  });
}

std::vector<std::pair<std::string, std::string>> describe_adapted(const Model& model, Json& json) {
  std::map<std::string, const PreprocessingLayer*> layers;
  for (const KerasWeights& group : keras_weights(model))
    if (const auto* layer = dynamic_cast<const PreprocessingLayer*>(group.layer); layer && layer->adapts())
      layers.emplace(group.path.substr(0, group.path.rfind('/') + 1), layer);
  std::vector<std::pair<std::string, std::string>> files;
  visit_adapting(json, "", [&](Json& layer, const std::string& place) {
    const auto found = layers.find(place);
    if (found == layers.end()) return;
    Json& config = layer["config"];
    if (text_in(layer, "class_name") == "Discretization") {
      const Tensor boundaries = found->second->own_weights().front().value();
      Json numbers = Json::array();
      for (std::int64_t i = 0; i < boundaries.size(); ++i) {
        if (!std::isfinite(boundaries.at(i))) return;  // it has not adapted, or JSON cannot say it
        numbers.push_back(boundaries.at(i));
      }
      config["bin_boundaries"] = std::move(numbers);
      return;
    }
    Json* vocabulary = member(config, "vocabulary");
    // Weights of the vocabulary are in the config, beside it.
    if (!vocabulary || vocabulary->empty() || text_in(config, "output_mode") == "tf_idf") return;
    std::string text;
    const auto add = [&](const Json& token) { text.append(text.empty() ? "" : "\n").append(line_of(token)); };
    if (text_in(config, "output_mode") == "int" && !config["mask_token"].is_null()) add(config["mask_token"]);
    for (std::int64_t i = 0; i < config["num_oov_indices"].get<std::int64_t>(); ++i) add(config["oov_token"]);
    for (const Json& token : *vocabulary) add(token);
    *vocabulary = nullptr;
    files.emplace_back("assets/" + place + "vocabulary.txt", std::move(text));
  });
  return files;
}

std::vector<Json> take_string_layers(Json& model) {
  const std::string class_name = text_in(model, "class_name");
  if (class_name == "Sequential") return take_from_sequential(model);
  return class_name == "Functional" || class_name == "Model" ? take_from_functional(model) : std::vector<Json>();
}

}  // namespace etude
