#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>

namespace etude {

/// The class and the options that an object was made of: what its config is written from. Empty for objects of classes
/// that are not Étude's.
class Description {
 public:
  Description() = default;
  template <class Options> Description(std::string_view class_name, Options options)
      : class_name_(class_name),
        options_(std::make_shared<const Options>(std::move(options))),
        type_(&typeid(Options)) {}

  bool empty() const { return !options_; }
  const std::string& class_name() const { return class_name_; }
  /// The options; null if they are of another type.
  template <class Options> const Options* options() const {
    return type_ && *type_ == typeid(Options) ? static_cast<const Options*>(options_.get()) : nullptr;
  }

 private:
  std::string class_name_;
  std::shared_ptr<const void> options_;
  const std::type_info* type_ = nullptr;
};

/// What can say how it was made.
class Described {
 public:
  const Description& description() const { return description_; }
  void describe(Description description) { description_ = std::move(description); }

 protected:
  ~Described() = default;

 private:
  Description description_;
};

/// The object, which from now on can say how it was made.
template <class Object, class Options>
std::shared_ptr<Object> described(std::string_view class_name, Options options, std::shared_ptr<Object> object) {
  object->describe({class_name, std::move(options)});
  return object;
}

/// The options of classes that have none.
struct NoOptions {
  template <class Self, class Visitor> static void fields(Self&, Visitor&&) {}
};

}  // namespace etude
