#pragma once

#include <map>
#include <string>

namespace etude {

/// Makes names unique: "dense" for the first "dense", then "dense_1", "dense_2", ….
class Numbering {
 public:
  std::string next(const std::string& name) {
    const int number = counts_[name]++;
    return number ? name + '_' + std::to_string(number) : name;
  }

 private:
  std::map<std::string, int> counts_;
};

}  // namespace etude
