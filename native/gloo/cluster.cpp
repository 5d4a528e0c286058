#include "etude/distribute/cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "etude/base/host.hpp"
#include "etude/saving/detail/json.hpp"
#include "etude/training/coordinator.hpp"
#include "gloo/sockets.hpp"

// Finds the cluster that the launcher of a process describes in its environment.
namespace etude {
namespace {

constexpr const char* where = "cluster_from_environment";
constexpr std::string_view loopback = "127.0.0.1";

class Environment {
 public:
  explicit Environment(const EnvironmentReader& read) : read_(read) {}
  /// An empty variable counts as none.
  std::optional<std::string> text(const char* name) const {
    std::optional<std::string> value = read_(name);
    return value && !value->empty() ? value : std::nullopt;
  }
  bool has(const char* name) const { return text(name).has_value(); }
  std::string required(const char* name, const char* beside) const {
    std::optional<std::string> value = text(name);
    check(value.has_value(), ErrorKind::value, where, "no ", name, " beside ", beside,
          " - expected both - set it, or start the program by a launcher that sets both.");
    return std::move(*value);
  }
  /// A number from `least` on.
  static int number(const char* name, const std::string& text, int least) {
    int result = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
    check(error == std::errc() && end == text.data() + text.size() && result >= least, ErrorKind::value, where, name,
          " = \"", text, "\" - expected a number from ", least, " on - correct it.");
    return result;
  }
  int number(const char* name, int otherwise) const {
    const std::optional<std::string> value = text(name);
    return value ? number(name, *value, 0) : otherwise;
  }

 private:
  const EnvironmentReader& read_;
};

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : std::string(loopback);
}

std::string joined(const std::string& host, const std::string& port) {
  return host.find(':') == std::string::npos ? host + ":" + port : "[" + host + "]:" + port;
}

[[noreturn]] void refuse_config(const std::string& what, const char* expected) {
  fail(ErrorKind::value, where, "TF_CONFIG with ", what, " - expected ", expected, " - correct it.");
}

/// The addresses of the tasks of one type.
std::vector<std::string> addresses_of(const Json& cluster, const char* type) {
  std::vector<std::string> addresses;
  const auto found = cluster.find(type);
  if (found == cluster.end()) return addresses;
  if (!found->is_array()) refuse_config(std::string("no list of addresses of type \"") + type + '"', "a list");
  for (const Json& each : *found) {
    if (!each.is_string() || !sockets::parse_address(each.get_ref<const std::string&>()))
      refuse_config("the address " + each.dump(), "\"host:port\"");
    addresses.push_back(each);
  }
  return addresses;
}

Cluster from_tf_config(const std::string& text) {
  const Json config = parse_json(text, "TF_CONFIG");
  if (!config.is_object()) refuse_config("other JSON than an object", "\"cluster\" and \"task\"");
  const auto cluster = config.find("cluster");
  if (cluster == config.end() || cluster->empty()) return {};
  if (!cluster->is_object()) refuse_config("a \"cluster\" that is no object", "types of tasks with their addresses");
  std::vector<std::string> all = addresses_of(*cluster, "chief");
  const std::size_t chiefs = all.size();
  if (chiefs > 1) refuse_config(std::to_string(chiefs) + " chiefs", "at most one");
  for (std::string& address : addresses_of(*cluster, "worker")) all.push_back(std::move(address));
  if (!addresses_of(*cluster, "ps").empty()) refuse_config("parameter servers", "only workers, which all-reduce");
  const auto task = config.find("task");
  if (task == config.end() || !task->is_object()) refuse_config("no \"task\"", "its type and index");
  const auto type = task->find("type"), index = task->find("index");
  if (type == task->end() || !type->is_string() || (*type != "worker" && *type != "chief"))
    refuse_config("a task of another type than \"worker\" and \"chief\"", "one of them");
  const bool is_chief = *type == "chief";
  const std::size_t count = is_chief ? chiefs : all.size() - chiefs;
  const bool fits = index != task->end() && index->is_number_integer() && *index >= 0 && *index < count;
  if (!fits) refuse_config("a task whose index is not in its list of addresses", "an index into it");
  const std::size_t rank = index->get<std::size_t>() + (is_chief ? 0 : chiefs);
  return {static_cast<int>(rank), static_cast<int>(all.size()), all.front(), sockets::parse_address(all[rank])->host,
          0};
}

/// A cluster from variables with the rank and the number of processes. `one_machine`: whether the launcher says so.
Cluster from_rank(const Environment& environment, const char* rank_name, const char* size_name, bool one_machine) {
  Cluster cluster;
  cluster.size = Environment::number(size_name, environment.required(size_name, rank_name), 1);
  cluster.rank = Environment::number(rank_name, environment.required(rank_name, size_name), 0);
  check(cluster.rank < cluster.size, ErrorKind::value, where, rank_name, " = ", cluster.rank, " with ", size_name,
        " = ", cluster.size, " - expected a lower rank - correct one of them.");
  if (cluster.size == 1) return cluster;
  const std::string chief = one_machine ? environment.text("MASTER_ADDR").value_or(std::string(loopback))
                                        : environment.required("MASTER_ADDR", rank_name);
  cluster.chief = joined(chief, std::to_string(environment.number("MASTER_PORT", 29500)));
  check(sockets::parse_address(cluster.chief).has_value(), ErrorKind::value, where,
        "MASTER_ADDR and MASTER_PORT for \"", cluster.chief,
        "\" - expected a host and a port below 65536 - correct them.");
  const bool has_own = environment.has("ETUDE_HOST");
  cluster.host = has_own                                            ? *environment.text("ETUDE_HOST")
                 : sockets::is_loopback(chief) || cluster.rank == 0 ? chief
                                                                    : machine_name();
  return cluster;
}

std::string secret_in(const Environment& environment) {
  if (const auto secret = environment.text("ETUDE_SECRET")) return *secret;
  const auto path = environment.text("ETUDE_SECRET_FILE");
  if (!path) return {};
  const std::vector<std::byte> bytes = read_file(*path);
  std::string secret(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  while (secret.ends_with('\n') || secret.ends_with('\r')) secret.pop_back();
  check(!secret.empty(), ErrorKind::value, where, "ETUDE_SECRET_FILE = \"", *path,
        "\", a file without a secret - expected a random text of 16 characters or more - write one.");
  return secret;
}

/// TF_CONFIG with a coordinator.
ServerCluster server_cluster(const std::string& text) {
  const Json config = parse_json(text, "TF_CONFIG");
  const auto cluster = config.is_object() ? config.find("cluster") : config.end();
  if (cluster == config.end() || !cluster->is_object())
    refuse_config("no \"cluster\"", "types of tasks with their addresses");
  ServerCluster result{.workers = addresses_of(*cluster, "worker"), .servers = addresses_of(*cluster, "ps")};
  const auto task = config.find("task");
  if (task == config.end() || !task->is_object()) refuse_config("no \"task\"", "its type and index");
  const auto type = task->find("type"), index = task->find("index");
  if (type == task->end() || !type->is_string() || (*type != "chief" && *type != "worker" && *type != "ps"))
    refuse_config("a task of another type than \"chief\", \"worker\" and \"ps\"", "one of them");
  result.task = *type;
  const std::size_t count = result.task == "chief"    ? 1
                            : result.task == "worker" ? result.workers.size()
                                                      : result.servers.size();
  if (index == task->end() || !index->is_number_integer() || *index < 0 || *index >= count)
    refuse_config("a task whose index is not in its list of addresses", "an index into it");
  result.index = *index;
  return result;
}

std::optional<std::string> read_environment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Cluster without_generation(const Environment& environment) {
  if (const auto config = environment.text("TF_CONFIG")) return from_tf_config(*config);
  if (environment.has("RANK") || environment.has("WORLD_SIZE"))
    return from_rank(environment, "RANK", "WORLD_SIZE", false);
  if (environment.number("SLURM_STEP_NUM_TASKS", 1) > 1)
    return from_rank(environment, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                     environment.number("SLURM_STEP_NUM_NODES", 2) == 1);
  if (const int size = environment.number("OMPI_COMM_WORLD_SIZE", 1); size > 1)
    return from_rank(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                     environment.number("OMPI_COMM_WORLD_LOCAL_SIZE", 0) == size);
  return {};
}

}  // namespace

Cluster cluster_from_environment() { return cluster_from_environment(read_environment); }

Cluster cluster_from_environment(const EnvironmentReader& read) {
  const Environment environment(read);
  Cluster cluster = without_generation(environment);
  cluster.secret = secret_in(environment);
  cluster.membership = environment.text("ETUDE_MEMBERSHIP").value_or("");
  cluster.generation = environment.number("ETUDE_RESTARTS", environment.number("TORCHELASTIC_RESTART_COUNT", 0));
  return cluster;
}

ServerCluster server_cluster_from_environment() { return server_cluster_from_environment(read_environment); }

ServerCluster server_cluster_from_environment(const EnvironmentReader& read) {
  const Environment environment(read);
  ServerCluster cluster = server_cluster(environment.required("TF_CONFIG", "a program with a coordinator"));
  cluster.secret = secret_in(environment);
  return cluster;
}

}  // namespace etude
