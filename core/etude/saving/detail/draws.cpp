// The state of random draws in saved models.
#include <map>
#include <string>

#include "etude/base/error.hpp"
#include "etude/saving/detail/model_config.hpp"
#include "etude/saving/detail/model_state.hpp"

namespace etude {

Json draws_of(const Model& model) {
  Json json = Json::object();
  for (const auto& [name, layer] : drawing_layers(model)) {
    const RandomKey key = *layer->random_key();
    add_member(json, name, {{"seed", key.seed}, {"stream", key.stream}});
  }
  return json;
}

bool restore_draws(const Model& model, const Json& json, std::string_view where) {
  std::map<std::string, RandomKey, std::less<>> keys;
  if (json.is_object())
    for (const auto& [name, key] : json.items())
      if (key.is_object() && key.contains("seed") && key["seed"].is_number_unsigned() && key.contains("stream") &&
          key["stream"].is_number_unsigned())
        keys[name] = {key["seed"].get<std::uint64_t>(), key["stream"].get<std::uint32_t>()};
  bool changed = false;
  for (const auto& [name, layer] : drawing_layers(model)) {
    const auto found = keys.find(name);
    check(found != keys.end(), ErrorKind::data, where, "no seed and stream of layer \"", name,
          "\" - expected those of its random draws - load it into a model of the same layers.");
    if (*layer->random_key() == found->second) continue;
    layer->set_random_key(found->second);
    changed = true;
  }
  return changed;
}

}  // namespace etude
