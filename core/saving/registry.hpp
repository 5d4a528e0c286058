#pragma once

/// Private to core/saving: what from_json may make.
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "etude/base/description.hpp"
#include "etude/saving/config_fields.hpp"

namespace etude {

/// One class: its name, how it is made of a config, and how the config of an object is written.
template <class T> struct RegistryEntry {
  std::string class_name;
  std::function<std::shared_ptr<T>(const Json& config)> make;
  std::function<Json(const Description&)> config_of;
};

/// The entry of a class that `make` makes of its options.
template <class T, class Product, class Argument>
RegistryEntry<T> entry(const char* class_name, Product (*make)(Argument)) {
  using Options = std::remove_cvref_t<Argument>;
  return {
      class_name,
      [=](const Json& config) -> std::shared_ptr<T> { return make(options_from_json<Options>(class_name, config)); },
      [=](const Description& description) { return options_to_json(class_name, *description.options<Options>()); }};
}
template <class T, class Product> RegistryEntry<T> entry(const char* class_name, Product (*make)()) {
  return {class_name,
          [=](const Json& config) -> std::shared_ptr<T> {
            options_from_json<NoOptions>(class_name, config);
            return make();
          },
          [](const Description&) { return Json::object(); }};
}

/// All classes of a kind, in one explicit table: a config can name nothing else.
template <class T> class Registry {
 public:
  /// `kind` is what errors call it: "layer", "optimizer".
  Registry(const char* kind, std::vector<RegistryEntry<T>> entries) : kind_(kind) {
    for (auto& entry : entries) {
      names_.push_back(entry.class_name);
      entries_.emplace(entry.class_name, std::move(entry));
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  const char* kind() const { return kind_; }

  /// Throws Error(value) listing the classes that there are.
  const RegistryEntry<T>& find(const std::string& class_name) const {
    const auto found = entries_.find(class_name);
    if (found != entries_.end()) return found->second;
    std::string known;
    for (const std::string& name : names_) known += (known.empty() ? "" : ", ") + name;
    fail(ErrorKind::value, kind_, "class \"", class_name, "\" - expected one of: ", known,
         " - make objects of other classes in code.");
  }

 private:
  const char* kind_;
  std::vector<std::string> names_;
  std::map<std::string, RegistryEntry<T>> entries_;
};

/// That of T. Specialized for each kind in registry.cpp.
template <class T> const Registry<T>& registry();

/// An object's parts: {"class_name": …, "config": {…}}. Throw Error(data).
const std::string& class_name_in(const Json& json);
const Json& config_in(const Json& json);

}  // namespace etude
