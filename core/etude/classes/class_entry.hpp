#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "etude/base/dtype.hpp"
#include "etude/classes/detail/snake_case.hpp"
#include "etude/classes/field.hpp"

/// The classes that users choose by name: layers, losses, metrics, optimizers, callbacks, …. A class declares its name
/// and its options once, next to its code:
///
///     class Dropout : public Layer {
///      public:
///       using Options = DropoutOptions;
///       static constexpr ClassText about{"Dropout", "Sets a fraction of the inputs to 0 in training."};
///       explicit Dropout(DropoutOptions options);
///       …
///     };
///     namespace layers {
///     inline constexpr Factory<Dropout> dropout;
///     }
///
/// A class whose objects are created by a function is a struct with `about` and a static `make` with its options.
namespace etude {

/// The name and the description of a class.
struct ClassText {
  const char* name;            ///< Keras's, of configs: "Dropout".
  const char* text;            ///< One line.
  const char* aliases = "";    ///< Further names of string forms, separated by spaces: "mse".
  const char* factory = "";    ///< The name of its factory, unless it is the class's name in snake_case.
  const char* example = "{}";  ///< A valid config.
};

/// A class and its options, without their C++ types.
struct ClassEntry {
  /// Keras's name: "Dropout".
  const char* class_name;
  /// The name of its factory: "dropout".
  const char* factory;
  /// Further names of string forms, separated by spaces.
  const char* aliases;
  /// Its options. Read them where an object of the class or of its options exists: the WebAssembly module may have the
  /// rows in a part of it that is loaded then.
  std::span<const Field> fields;
  /// New options with their default values.
  std::shared_ptr<void> (*options)();
  /// Creates an object from the options, which it moves. The result is a std::shared_ptr of the kind of class, such as
  /// Layer.
  std::shared_ptr<void> (*make)(void* options);
  /// Whether some options must be set.
  bool has_required = false;
};

/// The class and the options from which an object was created; its config is written from them. Empty for objects of
/// classes that declare no options.
class Description {
 public:
  Description() = default;
  /// The description of an object of this class with these options.
  template <HasFields Options> Description(const ClassEntry& entry, Options options)
      : entry_(&entry), options_(std::make_shared<Options>(std::move(options))) {}

  /// Whether the object is of a class that declares no options.
  bool empty() const { return !entry_; }
  /// The class; only if it is not empty.
  const ClassEntry& entry() const { return *entry_; }
  /// Keras's name of the class, or "".
  std::string_view class_name() const { return entry_ ? entry_->class_name : ""; }
  /// The options, which never change.
  void* options() const { return options_.get(); }

 private:
  const ClassEntry* entry_ = nullptr;
  std::shared_ptr<void> options_;
};

/// The base of classes with a description.
class Described {
 public:
  /// The class and options of the object.
  const Description& description() const { return description_; }
  /// Sets the result of description().
  void describe(Description description) { description_ = std::move(description); }

 protected:
  ~Described() = default;
  /// The options of its description.
  template <class Options> const Options& described_options() const {
    return *static_cast<const Options*>(description_.options());
  }

 private:
  Description description_;
};

namespace detail {

template <class Maker> struct MadeOf;
template <class Product, class Argument> struct MadeOf<Product (*)(Argument)> {
  using Options = std::remove_cvref_t<Argument>;
};

template <class Class> struct FindOptions {
  using Type = typename Class::Options;
};
template <class Class>
  requires requires { &Class::make; }
struct FindOptions<Class> {
  using Type = typename MadeOf<decltype(&Class::make)>::Options;
};

template <class Class> inline constexpr auto factory_of_class = [] {
  constexpr std::string_view name = Class::about.name;
  Characters<snake_case_size(name) + 1> result{};
  write_snake_case(name, result.text);
  return result;
}();
template <class Class> constexpr const char* factory_name() {
  if constexpr (std::string_view(Class::about.factory).empty())
    return factory_of_class<Class>.text;
  else
    return Class::about.factory;
}

}  // namespace detail

/// The struct of a class's options.
template <class Class> using OptionsOf = typename detail::FindOptions<Class>::Type;

namespace detail {
/// Whether `make` returns an object that its options contain: those would then contain themselves.
template <class Class> inline constexpr bool passes_on = requires { Class::passes_on; };

template <class Class> struct FindProduct {
  using Type = Class;
};
template <class Class>
  requires requires { typename Class::Product; }
struct FindProduct<Class> {
  using Type = typename Class::Product;
};
}  // namespace detail

/// The type of a factory's objects: the class, or the base class that it names `Product`.
template <class Class> using ProductOf = typename detail::FindProduct<Class>::Type;

template <class Class> auto make_object(OptionsOf<Class> options);

class Layer;

namespace detail {
template <class Class> std::shared_ptr<void> new_options() { return std::make_shared<OptionsOf<Class>>(); }

template <class Class> std::shared_ptr<void> make_erased(void* options) {
  auto object = make_object<Class>(std::move(*static_cast<OptionsOf<Class>*>(options)));
  return std::shared_ptr<typename decltype(object)::element_type::Kind>(std::move(object));
}
}  // namespace detail

namespace detail {
/// The result of `make`; losses and metrics are made in the dtype of their options.
template <class Made, class Options, class Make> auto in_dtype(const char* where, const Options& options, Make make) {
  if constexpr (requires { FloatxScope(options.dtype, where); } && requires { Made::has_dtype; }) {
    const FloatxScope scope(options.dtype, where);
    return make();
  } else {
    static_cast<void>(where);
    return make();
  }
}
}  // namespace detail

/// The entry of a class.
template <class Class>
inline constexpr ClassEntry class_entry{Class::about.name,
                                        detail::factory_name<Class>(),
                                        Class::about.aliases,
                                        fields_of<OptionsOf<Class>>,
                                        detail::new_options<Class>,
                                        detail::make_erased<Class>,
                                        std::ranges::any_of(fields_of<OptionsOf<Class>>, &Field::required)};

/// An object of the class, with its description: either the class's constructor sets it, as those of layers do, or this
/// function.
template <class Class> auto make_object(OptionsOf<Class> options) {
  if constexpr (requires { &Class::make; }) {
    using Made = typename decltype(Class::make(options))::element_type;
    auto object = detail::in_dtype<Made>(Class::about.name, options, [&] { return Class::make(options); });
    if (object->description().empty() && !detail::passes_on<Class>)
      object->describe({class_entry<Class>, std::move(options)});
    return object;
  } else if constexpr (std::derived_from<Class, Described> && !std::is_base_of_v<Layer, Class>) {
    auto object = detail::in_dtype<Class>(Class::about.name, options, [&] { return std::make_shared<Class>(options); });
    if (object->description().empty()) object->describe({class_entry<Class>, std::move(options)});
    return std::shared_ptr<ProductOf<Class>>(std::move(object));
  } else {
    return std::shared_ptr<ProductOf<Class>>(std::make_shared<Class>(std::move(options)));
  }
}

/// The function that creates objects of a class: `layers::dropout({.rate = 0.5})`, or from another argument of its
/// constructor, `layers::dropout(0.5)`.
template <class Class> struct Factory {
  /// Creates an object with these options.
  auto operator()(OptionsOf<Class> options = {}) const { return make_object<Class>(std::move(options)); }
  /// Creates an object from another argument of the constructor.
  template <class Argument>
    requires(!std::same_as<std::remove_cvref_t<Argument>, OptionsOf<Class>> && std::constructible_from<Class, Argument>)
  auto operator()(Argument&& argument) const {
    return std::shared_ptr<ProductOf<Class>>(std::make_shared<Class>(std::forward<Argument>(argument)));
  }
};

/// The classes of a family.
template <class... Classes> struct ClassList {
  /// The entries of the classes.
  static constexpr std::array<const ClassEntry*, sizeof...(Classes)> entries{&class_entry<Classes>...};
};

namespace detail {
template <class... Lists> struct Concatenated;
template <class... Classes> struct Concatenated<ClassList<Classes...>> {
  using Type = ClassList<Classes...>;
};
template <class... First, class... Second, class... Rest>
struct Concatenated<ClassList<First...>, ClassList<Second...>, Rest...>
    : Concatenated<ClassList<First..., Second...>, Rest...> {};
}  // namespace detail

/// The classes of several families.
template <class... Families> using Concatenated = typename detail::Concatenated<Families...>::Type;

}  // namespace etude
