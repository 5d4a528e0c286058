#include "etude/saving/detail/shared_objects.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace etude {
namespace {

thread_local int depth = 0;
thread_local std::map<std::pair<const ClassTable*, std::int64_t>, std::shared_ptr<void>> all;

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

}  // namespace etude
