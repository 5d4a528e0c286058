#include "etude/saving/detail/tf_object_graph.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "etude/base/detail/heap_sort.hpp"
#include "etude/base/error.hpp"
#include "etude/saving/detail/tf_wire.hpp"

namespace etude {
namespace {

using Object = TfObjectGraph::Object;

std::uint32_t object_number(std::uint64_t number, std::string_view where) {
  check(number <= INT32_MAX, ErrorKind::data, where, "an object ", number,
        " - expected one of the checkpoint - copy it again.");
  return static_cast<std::uint32_t>(number);
}

TfObjectGraph::Child child_in(std::string_view message, std::string_view where) {
  TfObjectGraph::Child child{};
  for (WireReader fields(message, where); fields.next();) {
    if (fields.field() == 1) child.object = object_number(fields.number(), where);
    if (fields.field() == 2) child.name = fields.text();
  }
  return child;
}

TfObjectGraph::Slot slot_in(std::string_view message, std::string_view where) {
  TfObjectGraph::Slot slot{};
  for (WireReader fields(message, where); fields.next();) {
    if (fields.field() == 1) slot.variable = object_number(fields.number(), where);
    if (fields.field() == 2) slot.name = fields.text();
    if (fields.field() == 3) slot.value = object_number(fields.number(), where);
  }
  return slot;
}

/// The name of the value of a variable; empty for other attributes.
std::string_view key_in(std::string_view message, std::string_view where) {
  std::string_view name, key;
  for (WireReader fields(message, where); fields.next();) {
    if (fields.field() == 1) name = fields.text();
    if (fields.field() == 3) key = fields.text();
  }
  return name == "VARIABLE_VALUE" ? key : std::string_view();
}

Object object_in(std::string_view message, std::string_view where) {
  Object object;
  for (WireReader fields(message, where); fields.next();) {
    if (fields.field() == 1) object.children.push_back(child_in(fields.text(), where));
    if (fields.field() == 3) object.slots.push_back(slot_in(fields.text(), where));
    if (fields.field() != 2) continue;
    const std::string_view key = key_in(fields.text(), where);
    if (!key.empty()) object.key = key;
  }
  return object;
}

/// The number after a prefix, if the name is nothing else.
std::optional<std::uint32_t> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return number;
}

/// What a Checkpoint and a model also refer to.
bool is_no_layer(std::string_view name) { return name == "optimizer" || name == "save_counter" || name == "root"; }

}  // namespace

TfObjectGraph::TfObjectGraph(std::string message, std::string_view where) : message_(std::move(message)) {
  for (WireReader fields(message_, where); fields.next();)
    if (fields.field() == 1) objects_.push_back(object_in(fields.text(), where));
  check(!objects_.empty(), ErrorKind::data, where,
        "an object graph without objects - expected a checkpoint of tf.keras - save it again.");
  const auto check_object = [&](std::uint32_t number) {
    check(number < objects_.size(), ErrorKind::data, where, "an object ", number, " among ", objects_.size(),
          " - expected one of them - copy the checkpoint again.");
  };
  for (const Object& object : objects_) {
    for (const Child& child : object.children) check_object(child.object);
    for (const Slot& slot : object.slots) check_object(std::max(slot.variable, slot.value));
  }
  find_values();
}

void TfObjectGraph::find_values() {
  std::vector<std::vector<std::uint32_t>> parents(objects_.size());
  std::vector<std::uint32_t> open;
  for (std::uint32_t i = 0; i < objects_.size(); ++i) {
    for (const Child& child : objects_[i].children) parents[child.object].push_back(i);
    objects_[i].has_values = !objects_[i].key.empty();
    if (objects_[i].has_values) open.push_back(i);
  }
  while (!open.empty()) {
    const std::uint32_t number = open.back();
    open.pop_back();
    for (const std::uint32_t parent : parents[number])
      if (!std::exchange(objects_[parent].has_values, true)) open.push_back(parent);
  }
}

std::optional<std::uint32_t> TfObjectGraph::child(std::uint32_t of, std::string_view name) const {
  for (const Child& child : objects_[of].children)
    if (child.name == name || (child.name.starts_with('_') && child.name.substr(1) == name)) return child.object;
  return {};
}

/// The children whose names are a prefix and a number, by their numbers.
std::vector<std::uint32_t> TfObjectGraph::counted(std::uint32_t of, std::string_view prefix) const {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> found;
  for (const Child& child : objects_[of].children)
    if (const auto number = number_after(child.name, prefix); number && objects_[child.object].has_values)
      found.emplace_back(*number, child.object);
  heap_sort(found);
  std::vector<std::uint32_t> result;
  for (const auto& [number, object] : found) result.push_back(object);
  return result;
}

bool TfObjectGraph::is_list(const Object& object) const {
  return !object.children.empty() && std::ranges::all_of(object.children, [](const Child& child) {
    return number_after(child.name, "").has_value();
  });
}

std::uint32_t TfObjectGraph::model() const {
  if (!counted(0, "layer_with_weights-").empty() || child(0, "root") == 0u) return 0;
  if (const auto model = child(0, "model")) return *model;
  std::vector<std::uint32_t> candidates;
  for (const Child& child : objects_[0].children)
    if (objects_[child.object].has_values && !is_no_layer(child.name)) candidates.push_back(child.object);
  if (candidates.size() != 1) return 0;
  const auto is_variable = [&](const Child& child) { return !objects_[child.object].key.empty(); };
  // A layer with weights of its own: the model is what has it.
  return std::ranges::any_of(objects_[candidates.front()].children, is_variable) ? 0 : candidates.front();
}

std::optional<std::uint32_t> TfObjectGraph::optimizer() const {
  const auto of_model = child(model(), "optimizer");
  return of_model ? of_model : child(0, "optimizer");
}

std::vector<std::uint32_t> TfObjectGraph::layers_of(std::uint32_t model) const {
  std::vector<std::uint32_t> layers = counted(model, "layer_with_weights-");
  if (!layers.empty()) return layers;
  // Keras 3: a Sequential has a Functional, which has a list.
  if (const auto functional = child(model, "_functional")) model = *functional;
  for (const char* list : {"operations", "cells"})
    if (const auto found = child(model, list)) return counted(*found, "");
  std::set<std::uint32_t> seen{model};
  std::vector<std::uint32_t> open;
  const auto add = [&](const Object& object) {
    for (auto child = object.children.rbegin(); child != object.children.rend(); ++child)
      if (objects_[child->object].has_values && objects_[child->object].key.empty() && !is_no_layer(child->name))
        open.push_back(child->object);
  };
  add(objects_[model]);
  while (!open.empty()) {
    const std::uint32_t number = open.back();
    open.pop_back();
    if (!seen.insert(number).second) continue;
    if (is_list(objects_[number]))
      add(objects_[number]);
    else
      layers.push_back(number);
  }
  return layers;
}

}  // namespace etude
