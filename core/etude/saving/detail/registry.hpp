#pragma once

/// Private to core/saving: objects of the table of classes as JSON.
#include <string>

#include "etude/saving/detail/config_fields.hpp"

namespace etude {

/// An object's parts: {"class_name": …, "config": {…}}. Throw Error(data).
const std::string& class_name_in(const Json& json);
/// The name under which a custom class is registered: "my_package>Gain"; "" for Étude's classes.
std::string registered_name_in(const Json& json);
const Json& config_in(const Json& json);

}  // namespace etude
