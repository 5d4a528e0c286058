#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <map>

#include "etude/distribute/cluster.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

// cluster_from_environment: which of the launchers' variables are read, in which order, and errors.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using testing::error_of;

using Variables = std::map<std::string, std::string>;

Cluster read(const Variables& variables) {
  return cluster_from_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

/// "rank/size chief host generation".
std::string text_of(const Variables& variables) {
  const Cluster cluster = read(variables);
  return std::to_string(cluster.rank) + '/' + std::to_string(cluster.size) + ' ' + cluster.chief + ' ' + cluster.host +
         ' ' + std::to_string(cluster.generation);
}

std::string refusal(const std::string& config) {
  return error_of([&] { read({{"TF_CONFIG", config}}); });
}

}  // namespace

TEST_CASE("cluster_from_environment: no variables, and an empty TF_CONFIG, are one process", "[cluster]") {
  CHECK(read({}).size == 1);
  CHECK(read({{"TF_CONFIG", ""}}).size == 1);
  CHECK(read({{"TF_CONFIG", "{}"}}).size == 1);
  CHECK(read({{"TF_CONFIG", R"({"cluster": {}, "task": {}})"}}).size == 1);
}

TEST_CASE("cluster_from_environment: TF_CONFIG lists workers, and a chief before them", "[cluster]") {
  const auto config = [](const char* cluster, const char* task) {
    return Variables{{"TF_CONFIG", std::string(R"({"cluster": )") + cluster + R"(, "task": )" + task + "}"}};
  };
  const char* two = R"({"worker": ["10.0.0.1:2222", "10.0.0.2:2223"]})";
  CHECK(text_of(config(two, R"({"type": "worker", "index": 1})")) == "1/2 10.0.0.1:2222 10.0.0.2 0");
  CHECK(text_of(config(two, R"({"type": "worker", "index": 0})")) == "0/2 10.0.0.1:2222 10.0.0.1 0");
  const char* with_chief = R"({"worker": ["a:1", "[::1]:2"], "chief": ["c:3"]})";
  CHECK(text_of(config(with_chief, R"({"type": "chief", "index": 0})")) == "0/3 c:3 c 0");
  CHECK(text_of(config(with_chief, R"({"type": "worker", "index": 1})")) == "2/3 c:3 ::1 0");
}

TEST_CASE("cluster_from_environment: the error for a malformed TF_CONFIG names the fault", "[cluster]") {
  CHECK_THAT(refusal("{"), ContainsSubstring("TF_CONFIG"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("other JSON than an object"));
  const auto with_task = [](const char* task) {
    return refusal(std::string(R"({"cluster": {"worker": ["a:1"]}, "task": )") + task + "}");
  };
  CHECK_THAT(with_task("1"), ContainsSubstring("no \"task\""));
  CHECK_THAT(with_task(R"({"type": "ps", "index": 0})"), ContainsSubstring("another type"));
  CHECK_THAT(with_task(R"({"type": "chief", "index": 0})"), ContainsSubstring("not in its list"));
  for (const char* index : {"1", "-1", "0.5", "\"0\"", "null"})
    CHECK_THAT(with_task((std::string(R"({"type": "worker", "index": )") + index + "}").c_str()),
               ContainsSubstring("not in its list"));
  const auto with_cluster = [](const char* cluster) {
    return refusal(std::string(R"({"task": {"type": "worker", "index": 0}, "cluster": )") + cluster + "}");
  };
  CHECK_THAT(with_cluster("[1]"), ContainsSubstring("no object"));
  CHECK_THAT(with_cluster(R"({"worker": "a:1"})"), ContainsSubstring("no list of addresses of type \"worker\""));
  for (const char* address : {"\"a\"", "\"a:\"", "\":1\"", "\"a:65536\"", "\"a:1x\"", "\"::1:2\"", "1"})
    CHECK_THAT(with_cluster((std::string(R"({"worker": [)") + address + "]}").c_str()),
               ContainsSubstring("\"host:port\""));
  CHECK_THAT(with_cluster(R"({"worker": ["a:1"], "ps": ["b:1"]})"), ContainsSubstring("parameter servers"));
  CHECK_THAT(with_cluster(R"({"worker": ["a:1"], "chief": ["b:1", "c:1"]})"), ContainsSubstring("2 chiefs"));
}

TEST_CASE("cluster_from_environment: torchrun's variables, after TF_CONFIG", "[cluster]") {
  Variables torchrun{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", "1234"}};
  CHECK(text_of(torchrun) == "1/4 127.0.0.1:1234 127.0.0.1 0");
  torchrun["TORCHELASTIC_RESTART_COUNT"] = "2";
  torchrun["MASTER_ADDR"] = "node1";
  torchrun["ETUDE_HOST"] = "node2";
  torchrun.erase("MASTER_PORT");
  CHECK(text_of(torchrun) == "1/4 node1:29500 node2 2");
  torchrun["RANK"] = "0";
  torchrun.erase("ETUDE_HOST");
  CHECK(text_of(torchrun) == "0/4 node1:29500 node1 2");
  torchrun["ETUDE_RESTARTS"] = "3";
  torchrun["MASTER_ADDR"] = "::1";
  torchrun["RANK"] = "3";
  CHECK(text_of(torchrun) == "3/4 [::1]:29500 ::1 3");
  torchrun["TF_CONFIG"] = R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}})";
  CHECK(text_of(torchrun) == "0/1 a:1 a 3");
}

TEST_CASE("cluster_from_environment: missing and wrong numbers are refused with their variable", "[cluster]") {
  const auto refused = [](const Variables& variables) { return error_of([&] { read(variables); }); };
  CHECK_THAT(refused({{"RANK", "0"}}), ContainsSubstring("no WORLD_SIZE beside RANK"));
  CHECK_THAT(refused({{"WORLD_SIZE", "2"}}), ContainsSubstring("no RANK beside WORLD_SIZE"));
  CHECK_THAT(refused({{"WORLD_SIZE", "2"}, {"RANK", "1"}}), ContainsSubstring("no MASTER_ADDR"));
  CHECK_THAT(refused({{"WORLD_SIZE", "2"}, {"RANK", "2"}}), ContainsSubstring("expected a lower rank"));
  CHECK_THAT(refused({{"WORLD_SIZE", "2"}, {"RANK", "x"}}), ContainsSubstring("RANK = \"x\""));
  CHECK_THAT(refused({{"WORLD_SIZE", "0"}, {"RANK", "0"}}), ContainsSubstring("WORLD_SIZE = \"0\""));
  CHECK_THAT(refused({{"WORLD_SIZE", "2"}, {"RANK", "0"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
             ContainsSubstring("\"a:70000\""));
  CHECK_THAT(refused({{"ETUDE_RESTARTS", "-1"}}), ContainsSubstring("ETUDE_RESTARTS = \"-1\""));
}

TEST_CASE("cluster_from_environment: the secret is a variable, or the content of a file", "[cluster]") {
  const testing::ScratchFolder folder("cluster-");
  const std::string path = folder.path() + "/secret";
  std::ofstream(path) << "of the file\n";
  CHECK(read({}).secret.empty());
  CHECK(read({{"ETUDE_SECRET_FILE", path}}).secret == "of the file");
  CHECK(read({{"ETUDE_SECRET", "given"}, {"ETUDE_SECRET_FILE", path}}).secret == "given");
  CHECK_THAT(error_of([&] { read({{"ETUDE_SECRET_FILE", path + "s"}}); }), ContainsSubstring(path + "s"));
  std::ofstream(path) << "\n";
  CHECK_THAT(error_of([&] { read({{"ETUDE_SECRET_FILE", path}}); }), ContainsSubstring("a file without a secret"));
}

TEST_CASE("cluster_from_environment: srun and mpirun, on one machine without an address", "[cluster]") {
  Variables slurm{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_NUM_NODES", "1"}};
  CHECK(text_of(slurm) == "1/2 127.0.0.1:29500 127.0.0.1 0");
  slurm["SLURM_STEP_NUM_NODES"] = "2";
  CHECK_THAT(error_of([&] { read(slurm); }), ContainsSubstring("no MASTER_ADDR beside SLURM_PROCID"));
  CHECK(read({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}).size == 1);
  Variables mpi{{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "3"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
  CHECK(text_of(mpi) == "2/3 127.0.0.1:29500 127.0.0.1 0");
  mpi["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  CHECK_THAT(error_of([&] { read(mpi); }), ContainsSubstring("no MASTER_ADDR beside OMPI_COMM_WORLD_RANK"));
  mpi["MASTER_ADDR"] = "10.0.0.1";
  mpi["ETUDE_HOST"] = "10.0.0.7";
  CHECK(text_of(mpi) == "2/3 10.0.0.1:29500 10.0.0.7 0");
}

}  // namespace etude
