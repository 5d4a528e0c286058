#pragma once

/// Functions of models and layers that a user wrote in JavaScript, which are called in traces.
#include "conversion.hpp"

namespace etude::js {

/// `link` calls a function of web's object by its name.
struct UserFunctions {
  val link;

  template <class R, class... Arguments> R run(const char* name, const Arguments&... arguments) const {
    const TraceScope scope;
    const val result = js::call(link, std::string(name), to_js(arguments)...);
    check(!is_promise(result), ErrorKind::value, name,
          "a promise was returned - expected the result itself, for a step is traced once and then "
          "replayed without JavaScript - make the function synchronous.");
    return from_js<R>(result, {name, "the result"});
  }
};

}  // namespace etude::js
