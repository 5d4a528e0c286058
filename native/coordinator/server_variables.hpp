#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/connection.hpp"
#include "coordinator/loop_thread.hpp"

namespace etude::coordinator {

/// Calls the parameter servers of a cluster.
class ServersClient final : public ServerVariables {
 public:
  /// Connects with all servers. `on_lost` is called from another thread, with the first server that is unavailable.
  /// `watches`: whether it finds that out also between calls.
  ServersClient(const ServerCluster& cluster, const CoordinatorOptions& options, bool watches,
                std::function<void(const UnavailableError&)> on_lost);
  ~ServersClient() override;

  void create(const NamedTensors& values, const Partitioner& partitioner, bool trainable) override;
  NamedTensors pull() override;
  NamedTensors pull(const std::vector<std::string>& names) override;
  void push(const NamedTensors& gradients) override;
  void assign(const NamedTensors& values) override;
  NamedTensors state() override;
  void restore(const NamedTensors& state) override;
  /// Informs all servers that the coordinator ends.
  void shutdown();

 private:
  /// Where a part of a variable is, and its rows.
  struct Place {
    std::size_t server;
    std::int64_t begin, end;
  };
  /// A variable: its parts in the order of their rows. `rows` is -1 for a scalar.
  struct Layout {
    std::int64_t rows = -1;
    std::vector<Place> places;
  };
  using Named = std::vector<std::pair<std::string, Tensor>>;

  /// On the thread of the connections.
  void refresh();
  void watch();
  NamedTensors pull_now(const std::vector<std::string>& names);
  const Layout& layout_of(const std::string& name);
  std::vector<Named> divided(const NamedTensors& tensors, const char* what);
  /// The parts of a variable as one tensor.
  static Tensor joined(const std::string& name, const Layout& layout,
                       const std::function<Tensor(const Place&)>& part_at);
  static std::string key_of(const std::string& name, std::int64_t begin) { return name + ":" + std::to_string(begin); }
  /// The slots of all servers, by the names of state().
  NamedTensors slots_now();
  /// Adds a slot of that name to those of the servers that have its parts.
  void divide_slot(const std::string& name, const Tensor& slot, std::vector<Named>& by_server);
  /// Calls `function` there; throws UnavailableError for a server that was lost before.
  void call(const std::function<void()>& function);

  ServerCluster cluster_;
  CoordinatorOptions options_;
  std::function<void(const UnavailableError&)> on_lost_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, Layout> layouts_;
  std::size_t created_ = 0;  ///< parts, on all servers
  std::optional<UnavailableError> lost_;
  LoopThread thread_;
};

}  // namespace etude::coordinator
