#pragma once

/// The types of options, and their conversion from JavaScript.
#include "callback_options.hpp"
#include "data.hpp"
#include "model_options.hpp"

namespace etude::js {

/// The conversion of options of one type, and their declaration.
struct OptionType {
  FieldType type;
  void (*read)(void* option, const val& value, const Where& where);
#ifdef ETUDE_DECLARATIONS
  std::string (*given)();
  /// A short text of the value; empty for long ones.
  std::string (*text)(const void* option);
#endif
};

/// Throws Error(state) for a type that option_types.cpp does not list.
const OptionType& option_type(const Field& field, const Where& where);

}  // namespace etude::js
