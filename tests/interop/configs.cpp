// Writes and reads configs for keras_configs.py, one JSON text per line.
//   etude_configs write   the JSON of an object of each class: {"kind", "class_name", "json"}
//   etude_configs read    of each line {"kind", "json"} on stdin the JSON of the object: {"json"}, or {"error"}
#include <iostream>
#include <string>

#include "config_samples.hpp"

using namespace etude;
using nlohmann::ordered_json;

namespace {

/// Calls visit(Kind, name) for each kind of class.
template <class Visit> void each_kind(Visit visit) {
  visit(testing::Tag<Layer>(), "layer");
  visit(testing::Tag<Loss>(), "loss");
  visit(testing::Tag<Metric>(), "metric");
  visit(testing::Tag<Optimizer>(), "optimizer");
  visit(testing::Tag<LearningRateSchedule>(), "schedule");
  visit(testing::Tag<Initializer>(), "initializer");
  visit(testing::Tag<Regularizer>(), "regularizer");
  visit(testing::Tag<Constraint>(), "constraint");
}

void write() {
  each_kind([]<class Kind>(testing::Tag<Kind>, const char* kind) {
    for (const std::string& name : class_names<Kind>()) {
      const ordered_json given{{"class_name", name}, {"config", samples::needed(name)}};
      const auto object = from_json<Kind>(given.dump());
      const ordered_json line{{"kind", kind}, {"class_name", name}, {"json", ordered_json::parse(to_json(*object))}};
      std::cout << line.dump() << '\n';
    }
  });
}

void read() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = ordered_json::parse(line);
    ordered_json answer;
    try {
      each_kind([&]<class Kind>(testing::Tag<Kind>, const char* kind) {
        if (request["kind"] != kind) return;
        answer["json"] = ordered_json::parse(to_json(*from_json<Kind>(request["json"].dump())));
      });
    } catch (const Error& error) {
      answer["error"] = error.what();
    }
    std::cout << answer.dump() << '\n';
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string action = count == 2 ? arguments[1] : "";
  if (action != "write" && action != "read") {
    std::cerr << "etude_configs write | read\n";
    return 2;
  }
  action == "write" ? write() : read();
}
