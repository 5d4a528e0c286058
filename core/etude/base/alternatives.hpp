#pragma once

#include <array>
#include <type_traits>
#include <variant>

namespace etude {

namespace detail {
template <class Function, class... Alternatives>
constexpr auto for_each_of(std::type_identity<std::variant<Alternatives...>>, Function function) {
  return std::to_array({function.template operator()<Alternatives>()...});
}
}  // namespace detail

/// A table of what `function.operator()<A>()` returns for each alternative A of a variant, to be indexed by index(). It
/// takes less code than a visit where only the alternative matters, and not its value.
template <class Variant, class Function> constexpr auto for_alternatives(Function function) {
  return detail::for_each_of(std::type_identity<Variant>{}, function);
}

}  // namespace etude
