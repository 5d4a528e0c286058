#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"

namespace etude {

/// The letters of a name, in lower case, and its digits.
inline std::string canonical_name(std::string_view name) {
  std::string result;
  for (const char c : name)
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))
      result += c;
    else if (c >= 'A' && c <= 'Z')  // in every locale
      result += static_cast<char>(c - 'A' + 'a');
  return result;
}

/// A table of classes that can be chosen by name, one per kind. Names match as in Keras, by letters and digits only:
/// "mse", "MSE", "mean_squared_error" and "MeanSquaredError" are equal.
template <class Maker> class Catalogue {
 public:
  /// `kind` is the name of the kind in errors: "optimizer", "loss".
  Catalogue(std::string_view kind, std::initializer_list<std::pair<const char*, Maker>> entries) : kind_(kind) {
    for (const auto& [name, maker] : entries) {
      makers_.emplace(canonical_name(name), maker);
      known_ += (known_.empty() ? "" : ", ") + std::string(name);
    }
  }

  bool contains(std::string_view name) const { return makers_.contains(canonical_name(name)); }

  /// The maker of `name`; throws Error(value) with the list of existing names.
  const Maker& find(std::string_view name) const {
    const auto found = makers_.find(canonical_name(name));
    check(found != makers_.end(), ErrorKind::value, kind_, '"', name, "\" - expected one of: ", known_,
          " - choose one of them, or pass an object.");
    return found->second;
  }

 private:
  std::string kind_, known_;
  std::map<std::string, Maker, std::less<>> makers_;
};

}  // namespace etude
