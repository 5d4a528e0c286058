#include "etude/saving/detail/shared_objects.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "etude/layers/layer.hpp"

namespace etude {
namespace {

thread_local int depth = 0;
thread_local std::map<std::pair<const ClassTable*, std::int64_t>, std::shared_ptr<void>> all;

thread_local int writers = 0;
/// The ids of layers that are written; 0 for those at one place.
thread_local std::map<const Layer*, std::int64_t> ids;

void add_layers(const Layer& layer, std::int64_t& last) {
  for (const LayerPtr& inside : layer.layers()) {
    const auto [known, is_new] = ids.emplace(inside.get(), 0);
    if (is_new)
      add_layers(*inside, last);
    else if (known->second == 0)
      known->second = ++last;
  }
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
  if (writers++ > 0) return;
  std::int64_t last = 0;
  add_layers(model, last);
}

SharedLayers::~SharedLayers() {
  if (--writers == 0) ids.clear();
}

std::optional<std::int64_t> SharedLayers::id_of(const Layer& layer) {
  const auto found = ids.find(&layer);
  return found == ids.end() || found->second == 0 ? std::nullopt : std::optional(found->second);
}

}  // namespace etude
