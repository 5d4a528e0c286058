#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "class_lists.hpp"

namespace etude::samples {

/// The required options of each class: the example of its table; empty for most classes.
inline nlohmann::json needed(const std::string& class_name) {
  static const std::map<std::string, std::string> examples = [] {
    std::map<std::string, std::string> result;
    testing::each_described_class([&]<class Class>(testing::Tag<Class>) {
      std::string& example = result[Class::about.name];
      if (example.size() < 3) example = Class::about.example;  // a loss and a metric may have the same name
    });
    return result;
  }();
  return nlohmann::json::parse(examples.at(class_name));
}

}  // namespace etude::samples
