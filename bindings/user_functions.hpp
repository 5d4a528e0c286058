#pragma once

/// Objects of web whose functions are called in traces: models, layers, losses, … that a user wrote in JavaScript.
#include "conversion.hpp"

namespace etude::js {

/// During its lifetime, reads of float variables have this dtype: that of the layer whose `call` runs, as in Keras.
/// Without a dtype they have their own.
class Autocast {
 public:
  explicit Autocast(std::optional<DType> dtype) : outer_(std::exchange(current, dtype)) {}
  ~Autocast() { current = outer_; }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  static inline std::optional<DType> current;

 private:
  std::optional<DType> outer_;
};

/// The functions of such an object. `link` calls one by its name, with a list of arguments.
struct UserFunctions {
  val link;
  std::optional<DType> autocast = {};

  template <class R, class... Arguments> R run(const char* name, const Arguments&... arguments) const {
    const TraceScope scope;
    const val result = call(name, {to_js(arguments)...});
    if constexpr (!std::is_void_v<R>) return from_js<R>(result, {name, "the result"});
  }
  /// The result of a function, which is no promise.
  val call(const char* name, std::initializer_list<val> arguments) const;
  /// The object, or undefined if JavaScript no longer has it.
  val object() const { return js::call(link, std::string("object")); }
};

/// The compiled step whose executions JavaScript may replace now: makeTrainFunction or a similar function runs.
inline std::shared_ptr<StepFunction> function_being_made;

/// The object that calls the functions of such an object. JavaScript gets it in its place.
class UserObject {
 public:
  virtual ~UserObject() = default;
  virtual const UserFunctions& functions() const = 0;
};
/// A layer or model of such an object. Its `call` gets its inputs by name if they were passed by name.
class UserLayer : public UserObject {
 public:
  /// Where the names of the next call's inputs are put; null for one whose `call` is not in JavaScript.
  virtual std::vector<std::string>* call_names() { return nullptr; }

 protected:
  /// The inputs, with the names of this call.
  Outputs named(const std::vector<Value>& inputs) {
    std::vector<std::string> names = std::exchange(call_names_, {});
    return names.size() == inputs.size() ? Outputs(inputs, std::move(names)) : Outputs(inputs);
  }
  std::vector<std::string> call_names_;
};

}  // namespace etude::js
