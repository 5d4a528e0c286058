#pragma once

/// The types of options, and how each is read from JavaScript.
#include "callback_options.hpp"
#include "data.hpp"
#include "model_options.hpp"

namespace etude::js {

/// How options of a type are read, and what the declarations say of them.
struct OptionType {
  FieldType type;
  void (*read)(void* option, const val& value, const Where& where);
#ifdef ETUDE_DECLARATIONS
  std::string (*given)();
  /// The value where it can be said in a few letters.
  std::string (*text)(const void* option);
#endif
};

/// Throws Error(state) for a type that option_types.cpp does not list.
const OptionType& option_type(const Field& field, const Where& where);

}  // namespace etude::js
