#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {

/// What can be chosen by name: one explicit table a kind. Names are matched as Keras does, by letters and digits only,
/// so that "mse", "MSE", "mean_squared_error" and "MeanSquaredError" are found alike.
template <class Maker> class Catalogue {
 public:
  /// `kind` is what errors call it: "optimizer", "loss".
  Catalogue(std::string_view kind, std::initializer_list<std::pair<const char*, Maker>> entries) : kind_(kind) {
    for (const auto& [name, maker] : entries) {
      makers_.emplace(canonical(name), maker);
      known_ += (known_.empty() ? "" : ", ") + std::string(name);
    }
  }

  bool contains(std::string_view name) const { return makers_.contains(canonical(name)); }

  /// The maker called `name`; throws Error(value) listing those that exist.
  const Maker& find(std::string_view name) const {
    const auto found = makers_.find(canonical(name));
    check(found != makers_.end(), ErrorKind::value, kind_, '"', name, "\" - expected one of: ", known_,
          " - choose one of them, or pass an object.");
    return found->second;
  }

 private:
  static std::string canonical(std::string_view name) {
    std::string result;
    for (const char c : name)
      if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
        result += c;
      else if (c >= 'A' && c <= 'Z')  // whatever the locale takes for its small letter
        result += static_cast<char>(c - 'A' + 'a');
    return result;
  }

  std::string kind_, known_;
  std::map<std::string, Maker, std::less<>> makers_;
};

}  // namespace etude
