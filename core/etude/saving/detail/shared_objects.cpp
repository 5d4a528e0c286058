#include "etude/saving/detail/shared_objects.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "etude/layers/layer.hpp"

namespace etude {
namespace {

thread_local int depth = 0;
thread_local std::map<std::pair<const ClassTable*, std::int64_t>, std::shared_ptr<void>> all;

thread_local int writers = 0;
thread_local std::set<const Layer*> seen;
thread_local std::vector<const Layer*> shared;  // whose ids are their places here

void add_layers(const Layer& layer) {
  for (const LayerPtr& inside : layer.layers())
    if (seen.insert(inside.get()).second)
      add_layers(*inside);
    else if (std::ranges::find(shared, inside.get()) == shared.end())
      shared.push_back(inside.get());
}

std::optional<std::int64_t> id_in(const Json& json) {
  const auto id = json.find("shared_object_id");
  return id != json.end() && id->is_number_integer() ? std::optional(id->get<std::int64_t>()) : std::nullopt;
}

}  // namespace

SharedObjects::SharedObjects() { ++depth; }

SharedObjects::~SharedObjects() {
  if (--depth == 0) all.clear();
}

std::shared_ptr<void> SharedObjects::find(const ClassTable& kind, const Json& json) const {
  const auto id = id_in(json);
  const auto found = id ? all.find({&kind, *id}) : all.end();
  return found == all.end() ? nullptr : found->second;
}

void SharedObjects::add(const ClassTable& kind, const Json& json, std::shared_ptr<void> object) const {
  if (const auto id = id_in(json)) all.emplace(std::pair(&kind, *id), std::move(object));
}

SharedLayers::SharedLayers(const Layer& model) {
  static_cast<void>(model.layers_inside());  // throws if they are nested too deep
  if (writers == 0) {
    seen.clear();
    shared.clear();
    add_layers(model);
  }
  ++writers;
}

SharedLayers::~SharedLayers() {
  if (--writers == 0) shared.clear();
}

std::optional<std::int64_t> SharedLayers::id_of(const Layer& layer) {
  const auto found = std::ranges::find(shared, &layer);
  return found == shared.end() ? std::nullopt : std::optional(found - shared.begin() + 1);
}

}  // namespace etude
