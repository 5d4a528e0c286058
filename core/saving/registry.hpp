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
  const char* class_name;
  std::shared_ptr<T> (*make)(const std::string& class_name, const Json& config);
  Json (*config_of)(const Description&);
};

/// The options that a function takes; NoOptions where it takes none.
template <class Function> struct OptionsOf;
template <class Product> struct OptionsOf<Product (*)()> {
  using Type = NoOptions;
};
template <class Product, class Argument> struct OptionsOf<Product (*)(Argument)> {
  using Type = std::remove_cvref_t<Argument>;
};

/// The entry of a class that `maker` makes of its options.
template <class T, auto maker> RegistryEntry<T> entry(const char* class_name) {
  using Options = typename OptionsOf<decltype(maker)>::Type;
  return {class_name,
          [](const std::string& name, const Json& config) -> std::shared_ptr<T> {
            Options options = options_from_json<Options>(name, config);
            if constexpr (std::is_same_v<Options, NoOptions>)
              return maker();
            else
              return maker(std::move(options));
          },
          [](const Description& description) {
            return options_to_json(description.class_name(), *description.options<Options>());
          }};
}

/// All classes of a kind, in one explicit table: a config can name nothing else.
template <class T> class Registry {
 public:
  /// `kind` is what errors call it: "layer", "optimizer".
  Registry(const char* kind, std::vector<RegistryEntry<T>> entries) : kind_(kind) {
    for (const auto& entry : entries) {
      names_.push_back(entry.class_name);
      entries_.emplace(entry.class_name, entry);
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
