#include <algorithm>
#include <string_view>

#include "coordinator/server_variables.hpp"

// The state of the servers' optimizers, in a form that does not depend on the number of servers and parts.

namespace etude::coordinator {
namespace {

constexpr std::string_view prefix = "optimizer/";

/// A name like "kernel:0/2": what the slot belongs to, "kernel:0", and its number, "2".
std::pair<std::string, std::string> divided_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool has_rows(const Tensor& slot, std::int64_t rows) { return slot.shape().rank() > 0 && slot.shape()[0] == rows; }

}  // namespace

NamedTensors ServersClient::slots_now() {
  std::map<std::string, Tensor> parts;  // by names like "kernel:0/2"
  NamedTensors result;
  double most = -1;
  std::vector<kj::Promise<capnp::Response<schema::Task::SlotsResults>>> calls;
  for (const auto& connection : connections_) calls.push_back(connection->task().slotsRequest().send());
  for (std::size_t server = 0; server < calls.size(); ++server) {
    const auto response = connections_[server]->checked(kj::mv(calls[server]));
    // Variables that exist once are those of the server that has got most gradients: one without parts gets none.
    const Named slots = read(response.getValues());
    const bool leads = !slots.empty() && slots.front().first == "0" && slots.front().second.item() > most;
    if (leads) most = slots.front().second.item();
    for (const auto& [name, slot] : slots) {
      if (name.find('/') != std::string::npos)
        parts[name] = slot;
      else if (leads)
        result[std::string(prefix) + name] = slot;
    }
  }
  for (const auto& [variable, layout] : layouts_)
    for (std::size_t number = 0;; ++number) {
      const std::string slot = "/" + std::to_string(number);
      const auto part = [&](const Place& place) {
        const auto found = parts.find(key_of(variable, place.begin) + slot);
        return found == parts.end() ? Tensor() : found->second;
      };
      const auto exists = [&](const Place& place) { return static_cast<bool>(part(place)); };
      const auto rows = [&](const Place& place) {
        return exists(place) && has_rows(part(place), place.end - place.begin);
      };
      if (std::ranges::none_of(layout.places, exists)) break;
      if (layout.places.size() == 1) {
        result[std::string(prefix) + variable + slot] = part(layout.places.front());
      } else if (std::ranges::all_of(layout.places, rows)) {
        result[std::string(prefix) + variable + slot] = joined(variable, layout, part);
      } else {
        for (const Place& place : layout.places)
          if (exists(place)) result[std::string(prefix) + key_of(variable, place.begin) + slot] = part(place);
      }
    }
  return result;
}

NamedTensors ServersClient::state() {
  NamedTensors result = pull();
  call([&] { result.merge(slots_now()); });
  return result;
}

void ServersClient::divide_slot(const std::string& name, const Tensor& slot, std::vector<Named>& by_server) {
  const auto [of, number] = divided_name(name);
  if (of.empty()) {
    for (Named& slots : by_server) slots.emplace_back(number, slot);
    return;
  }
  const auto found = layouts_.find(of);
  if (found != layouts_.end()) {
    const std::vector<Place>& places = found->second.places;
    check(places.size() == 1 || has_rows(slot, found->second.rows), ErrorKind::value, "coordinator", "a slot of shape ",
          slot.shape(), " for ", of, " in ", places.size(), " parts - expected ", found->second.rows,
          " rows - restore it with as many parts as before.");
    for (const Place& place : places)
      by_server[place.server].emplace_back(key_of(of, place.begin) + "/" + number,
                                           places.size() == 1 ? slot : slot.rows(place.begin, place.end));
    return;
  }
  for (const auto& [variable, layout] : layouts_)
    for (const Place& place : layout.places)
      if (key_of(variable, place.begin) == of) return void(by_server[place.server].emplace_back(name, slot));
  fail(ErrorKind::value, "coordinator", "a slot of ", of,
       " in the state - expected one of a variable that exists - create the same variables, in the same parts.");
}

void ServersClient::restore(const NamedTensors& state) {
  NamedTensors values, slots_by_name;
  for (const auto& [name, tensor] : state) {
    // A variable's own name may begin with the prefix.
    const bool is_slot = name.starts_with(prefix) && !layouts_.contains(name);
    if (is_slot)
      slots_by_name[name.substr(prefix.size())] = tensor;
    else
      values[name] = tensor;
  }
  assign(values);
  call([&] {
    std::vector<Named> slots(connections_.size());
    for (const auto& [name, tensor] : slots_by_name) divide_slot(name, tensor, slots);
    std::vector<kj::Promise<capnp::Response<schema::Task::RestoreSlotsResults>>> calls;
    for (std::size_t server = 0; server < slots.size(); ++server) {
      auto request = connections_[server]->task().restoreSlotsRequest(capnp::MessageSize{words_of(slots[server]), 0});
      write(request.initValues(static_cast<capnp::uint>(slots[server].size())), slots[server]);
      calls.push_back(request.send());
    }
    for (std::size_t server = 0; server < slots.size(); ++server) connections_[server]->checked(kj::mv(calls[server]));
  });
}

}  // namespace etude::coordinator
