#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "coordinator/errors.hpp"
#include "etude/training/coordinator.hpp"

namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("server_cluster_from_environment: the addresses and the task of TF_CONFIG", "[coordinator]") {
  const auto cluster_of = [](const std::string& task) {
    const std::string config =
        R"({"cluster": {"chief": ["a:1"], "worker": ["b:2", "c:3"], "ps": ["d:4"]}, "task": )" + task + "}";
    return server_cluster_from_environment([&](const std::string& name) -> std::optional<std::string> {
      if (name == "TF_CONFIG") return config;
      return name == "ETUDE_SECRET" ? std::optional<std::string>("secret") : std::nullopt;
    });
  };
  const ServerCluster cluster = cluster_of(R"({"type": "worker", "index": 1})");
  CHECK(cluster.workers == std::vector<std::string>{"b:2", "c:3"});
  CHECK(cluster.servers == std::vector<std::string>{"d:4"});
  CHECK(cluster.task == "worker");
  CHECK(cluster.index == 1);
  CHECK(cluster.secret == "secret");
  CHECK_THAT(error_of([&] { cluster_of(R"({"type": "ps", "index": 1})"); }),
             ContainsSubstring("index is not in its list"));
  CHECK_THAT(error_of([&] { cluster_of(R"({"type": "evaluator", "index": 0})"); }), ContainsSubstring("another type"));
}

TEST_CASE("partitioners: at most one part for each row, and at least so many bytes", "[coordinator]") {
  CHECK(fixed_shards_partitioner(3)({5, 2}, DType::float32) == 3);
  CHECK(fixed_shards_partitioner(3)({2}, DType::float32) == 2);
  CHECK(fixed_shards_partitioner(3)({}, DType::float32) == 1);
  CHECK(min_size_partitioner(40, 4)({10}, DType::float32) == 1);
  CHECK(min_size_partitioner(40, 4)({11}, DType::float32) == 2);
  CHECK(min_size_partitioner(40, 4)({1000}, DType::float32) == 4);
  CHECK(min_size_partitioner(1, 9)({3, 7}, DType::float64) == 3);
}

}  // namespace etude
