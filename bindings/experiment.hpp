#pragma once

/// Trials and searches in JavaScript.
#include "bind.hpp"

namespace etude::js {

/// Register the functions of experiment.cpp and of search.cpp.
void register_trials();
void register_searches();

/// Sets `field` to the member of that name, if there is one.
template <class T> void take(const val& object, const char* name, T& field, const Where& where) {
  if (object.isUndefined() || object.isNull()) return;
  const val value = object[name];
  if (!value.isUndefined()) field = from_js<T>(value, where.of(name));
}

/// The object of a JSON text.
inline val parsed(const std::string& json) { return val::global("JSON").call<val>("parse", json); }
/// The JSON text of an object.
inline std::string json_of(const val& object) { return val::global("JSON").call<std::string>("stringify", object); }
/// The values of an object; none for undefined.
inline experiment::Settings settings_of(const val& object, const std::string& where) {
  if (object.isUndefined() || object.isNull()) return {};
  return experiment::Settings::parse(json_of(object), where);
}

}  // namespace etude::js
