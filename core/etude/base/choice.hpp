#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

namespace etude {

/// An option that a caller passes by name or as an object, as in Keras: "adam", or optimizers::adam({…}).
template <class T> class Choice {
 public:
  Choice() = default;
  Choice(const char* name) : name_(name) {}
  Choice(std::string name) : name_(std::move(name)) {}
  template <std::derived_from<T> Derived> Choice(std::shared_ptr<Derived> object) : object_(std::move(object)) {}

  bool empty() const { return !object_ && name_.empty(); }
  const std::string& name() const { return name_; }
  const std::shared_ptr<T>& object() const { return object_; }

 private:
  std::string name_;
  std::shared_ptr<T> object_;
};

}  // namespace etude
