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

/// A table of the results of `function.operator()<A>()` for each alternative A of a variant, indexed by index(). It
/// needs less code than a visit if only the alternative matters, and not its value.
template <class Variant, class Function> constexpr auto for_alternatives(Function function) {
  return detail::for_each_of(std::type_identity<Variant>{}, function);
}

}  // namespace etude
