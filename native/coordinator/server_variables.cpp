#include "coordinator/server_variables.hpp"

#include <algorithm>
#include <cstring>
#include <set>

namespace etude::coordinator {
namespace {

constexpr const char* where = "coordinator";

}  // namespace

ServersClient::ServersClient(const ServerCluster& cluster, const CoordinatorOptions& options, bool watches,
                             std::function<void(const UnavailableError&)> on_lost)
    : cluster_(cluster),
      options_(options),
      on_lost_(std::move(on_lost)),
      thread_(
          watches ? std::clamp(options.timeout / 8, std::chrono::milliseconds(20), std::chrono::milliseconds(500))
                  : std::chrono::milliseconds(std::chrono::hours(1)),
          watches ? std::function<void()>([this] { watch(); }) : [] {}) {
  try {
    thread_.run([&](kj::AsyncIoContext& io) {
      const auto deadline = std::chrono::steady_clock::now() + options.timeout;
      std::vector<std::unique_ptr<Connection>> connections;
      for (std::size_t i = 0; i < cluster_.servers.size(); ++i)
        connections.push_back(
            std::make_unique<Connection>(io, cluster_, Peer{"ps", static_cast<int>(i)}, options.timeout, deadline));
      connections_ = std::move(connections);
      refresh();
    });
  } catch (...) {
    thread_.run([this](kj::AsyncIoContext&) { connections_.clear(); });
    throw;
  }
}

ServersClient::~ServersClient() {
  thread_.run([this](kj::AsyncIoContext&) { connections_.clear(); });
}

void ServersClient::watch() {
  if (lost_ || connections_.empty()) return;
  try {
    for (const auto& connection : connections_)
      connection->await(
          kj::Promise<capnp::Response<schema::Task::PingResults>>(connection->task().pingRequest().send()));
  } catch (const UnavailableError& error) {
    lost_ = error;
    on_lost_(error);
  } catch (const Error&) {  // a later call throws it
  }
}

void ServersClient::call(const std::function<void()>& function) {
  thread_.run([&](kj::AsyncIoContext&) {
    if (lost_) throw UnavailableError(*lost_);
    try {
      function();
    } catch (const UnavailableError& error) {
      lost_ = error;
      on_lost_(error);
      throw;
    } catch (const kj::Exception&) {  // which users do not know
      const Failed failed = current_failure();
      throw Error(failed.kind, failed.text);
    }
  });
}

void ServersClient::refresh() {
  std::map<std::string, Layout> layouts;
  created_ = 0;
  std::vector<kj::Promise<capnp::Response<schema::Task::ListResults>>> calls;
  for (const auto& connection : connections_) calls.push_back(connection->task().listRequest().send());
  for (std::size_t server = 0; server < connections_.size(); ++server) {
    const auto response = connections_[server]->await(kj::mv(calls[server]));
    for (const auto& part : response.getParts()) {
      ++created_;
      Layout& layout = layouts[part.getName().cStr()];
      layout.rows = part.getRows();
      layout.places.push_back({server, part.getBegin(), part.getRows()});
    }
  }
  for (auto& [name, layout] : layouts) {
    std::ranges::sort(layout.places, {}, &Place::begin);
    for (std::size_t i = 0; i + 1 < layout.places.size(); ++i) layout.places[i].end = layout.places[i + 1].begin;
  }
  layouts_ = std::move(layouts);
}

const ServersClient::Layout& ServersClient::layout_of(const std::string& name) {
  if (!layouts_.contains(name)) refresh();
  const auto found = layouts_.find(name);
  check(found != layouts_.end(), ErrorKind::value, where, "no variable ", name,
        " - expected one that was created - create it first.");
  return found->second;
}

void ServersClient::create(const NamedTensors& values, const Partitioner& partitioner, bool trainable) {
  call([&] {
    refresh();
    const std::size_t servers = connections_.size();
    struct New {
      std::string name;
      std::int64_t begin, rows;
      Tensor value;
    };
    std::vector<std::vector<New>> fresh(servers);
    std::size_t next = created_;
    for (const auto& [name, value] : values) {
      check(!layouts_.contains(name), ErrorKind::value, where, "another variable ", name,
            " - expected different names - choose another one.");
      const std::int64_t parts = partitioner ? partitioner(value.shape(), value.dtype()) : 1;
      const std::int64_t rows = value.shape().rank() == 0 ? -1 : value.shape()[0];
      check(parts == 1 || (parts > 1 && parts <= rows), ErrorKind::value, where, parts, " parts of ", name,
            " with shape ", value.shape(), " - expected one, or at most one for each row - correct the partitioner.");
      for (std::int64_t part = 0, begin = 0; part < parts; ++part) {
        // The first parts have one row more, if the rows are not a multiple.
        const std::int64_t end = parts == 1 ? rows : begin + rows / parts + (part < rows % parts);
        fresh[next++ % servers].push_back({name, begin, rows, parts == 1 ? value : value.rows(begin, end)});
        begin = end;
      }
    }
    std::vector<std::pair<Connection*, kj::Promise<capnp::Response<schema::Task::CreateResults>>>> calls;
    for (std::size_t server = 0; server < servers; ++server) {
      if (fresh[server].empty()) continue;
      std::vector<Tensor> tensors;
      for (const New& each : fresh[server]) tensors.push_back(each.value);
      auto request = connections_[server]->task().createRequest(capnp::MessageSize{words_of(tensors), 0});
      auto parts = request.initParts(static_cast<capnp::uint>(tensors.size()));
      for (capnp::uint i = 0; i < parts.size(); ++i) {
        parts[i].setName(fresh[server][i].name);
        parts[i].setBegin(fresh[server][i].begin);
        parts[i].setRows(fresh[server][i].rows);
        parts[i].setTrainable(trainable);
      }
      write(request.initValues(parts.size()), tensors);
      calls.emplace_back(connections_[server].get(), request.send());
    }
    for (auto& [connection, promise] : calls) connection->checked(kj::mv(promise));
    refresh();
  });
}

NamedTensors ServersClient::pull() {
  NamedTensors result;
  call([&] {
    refresh();
    std::vector<std::string> names;
    for (const auto& [name, layout] : layouts_) names.push_back(name);
    result = pull_now(names);
  });
  return result;
}

NamedTensors ServersClient::pull(const std::vector<std::string>& names) {
  NamedTensors result;
  call([&] { result = pull_now(names); });
  return result;
}

NamedTensors ServersClient::pull_now(const std::vector<std::string>& names) {
  std::vector<std::vector<std::string>> keys(connections_.size());
  const std::set<std::string> different(names.begin(), names.end());
  for (const std::string& name : different)
    for (const Place& place : layout_of(name).places) keys[place.server].push_back(key_of(name, place.begin));
  std::vector<std::optional<kj::Promise<capnp::Response<schema::Task::PullResults>>>> calls(keys.size());
  for (std::size_t server = 0; server < keys.size(); ++server) {
    if (keys[server].empty()) continue;
    auto request = connections_[server]->task().pullRequest();
    auto list = request.initNames(static_cast<capnp::uint>(keys[server].size()));
    for (capnp::uint i = 0; i < list.size(); ++i) list.set(i, keys[server][i]);
    calls[server].emplace(request.send());
  }
  std::map<std::string, Tensor> parts;
  for (std::size_t server = 0; server < keys.size(); ++server) {
    if (!calls[server]) continue;
    const auto response = connections_[server]->checked(kj::mv(*calls[server]));
    std::vector<Tensor> values = read(response.getValues());
    check(values.size() == keys[server].size(), ErrorKind::data, where,
          "another number of values - expected one for each name - run the same program in all processes.");
    for (std::size_t i = 0; i < values.size(); ++i) parts[keys[server][i]] = std::move(values[i]);
  }
  NamedTensors result;
  for (const std::string& name : different) {
    const Layout& layout = layouts_.at(name);
    if (layout.places.size() == 1) {
      result[name] = parts.at(key_of(name, 0));
      continue;
    }
    result[name] = joined(name, layout, [&](const Place& place) { return parts.at(key_of(name, place.begin)); });
  }
  return result;
}

Tensor ServersClient::joined(const std::string& name, const Layout& layout,
                             const std::function<Tensor(const Place&)>& part_at) {
  const Tensor first = part_at(layout.places.front());
  std::vector<std::int64_t> extents(first.shape().begin(), first.shape().end());
  extents.front() = layout.rows;
  Tensor whole = Tensor::uninitialized(Shape(std::span<const std::int64_t>(extents)), first.dtype());
  for (const Place& place : layout.places) {
    const Tensor part = part_at(place);
    Tensor rows = whole.rows(place.begin, place.end);
    check(part.bytes() == rows.bytes(), ErrorKind::data, where, "a part of ", name,
          " with another size - expected its rows - run the same program in all processes.");
    std::memcpy(rows.raw(), part.raw(), part.bytes());
  }
  return whole;
}

std::vector<ServersClient::Named> ServersClient::divided(const NamedTensors& tensors, const char* what) {
  std::vector<Named> result(connections_.size());
  for (const auto& [name, tensor] : tensors) {
    const Layout& layout = layout_of(name);
    const bool whole = layout.places.size() == 1;
    check(whole || (tensor.shape().rank() > 0 && tensor.shape()[0] == layout.rows), ErrorKind::shape, where, what,
          " of shape ", tensor.shape(), " for ", name, " with ", layout.rows,
          " rows - expected as many - pass one like the variable.");
    for (const Place& place : layout.places)
      result[place.server].emplace_back(key_of(name, place.begin),
                                        whole ? tensor : tensor.rows(place.begin, place.end));
  }
  return result;
}

void ServersClient::push(const NamedTensors& gradients) {
  call([&] {
    const std::vector<Named> divided_gradients = divided(gradients, "a gradient");
    std::vector<std::pair<Connection*, kj::Promise<capnp::Response<schema::Task::PushResults>>>> calls;
    for (std::size_t server = 0; server < divided_gradients.size(); ++server) {
      const Named& named = divided_gradients[server];
      if (named.empty()) continue;
      auto request = connections_[server]->task().pushRequest(capnp::MessageSize{words_of(named), 0});
      write(request.initGradients(static_cast<capnp::uint>(named.size())), named);
      calls.emplace_back(connections_[server].get(), request.send());
    }
    for (auto& [connection, promise] : calls) connection->checked(kj::mv(promise));
  });
}

void ServersClient::assign(const NamedTensors& values) {
  call([&] {
    const std::vector<Named> divided_values = divided(values, "a value");
    std::vector<std::pair<Connection*, kj::Promise<capnp::Response<schema::Task::AssignResults>>>> calls;
    for (std::size_t server = 0; server < divided_values.size(); ++server) {
      const Named& named = divided_values[server];
      if (named.empty()) continue;
      auto request = connections_[server]->task().assignRequest(capnp::MessageSize{words_of(named), 0});
      write(request.initValues(static_cast<capnp::uint>(named.size())), named);
      calls.emplace_back(connections_[server].get(), request.send());
    }
    for (auto& [connection, promise] : calls) connection->checked(kj::mv(promise));
  });
}

void ServersClient::shutdown() {
  for (std::size_t server = 0; server < cluster_.servers.size(); ++server) {
    try {
      thread_.run([&](kj::AsyncIoContext&) {
        kj::Promise<capnp::Response<schema::Task::ShutdownResults>> promise =
            connections_[server]->task().shutdownRequest().send();
        connections_[server]->await(kj::mv(promise));
      });
    } catch (const Error&) {  // it has ended
    }
  }
}

}  // namespace etude::coordinator
