#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

/// The options of a class, as rows of a table. A struct of options declares its rows once:
///
///     struct DropoutOptions {
///       double rate = 0;
///       std::string name = {};
///       template <class O = DropoutOptions> static constexpr auto fields() {
///         return option_rows(option<&O::rate>("Fraction of the inputs that are set to 0.", Need::required),
///                            option<&O::name>("Name of the layer."));
///       }
///     };
///
/// The function may be a template, as here: then only a program that uses the rows compiles them.
///
/// Configs, JavaScript and the reference read and write options through these rows. A struct may include the rows of
/// its base, if that is its only base.
namespace etude {

/// Identifies a C++ type: equal for fields of equal type.
using FieldType = const void*;

/// One option: its name, where it is in a struct of options, and its type.
struct Field {
  /// The name of the member and of the option.
  const char* name;
  /// The address of the member in a struct of options.
  void* (*member)(void* options);
  /// The member's type.
  FieldType type;
  /// Whether configs and JavaScript must set it.
  bool required;
};

/// Whether an option must be set.
enum class Need : bool { optional, required };

namespace detail {

template <class T> inline constexpr char type_tag = 0;

template <auto Member> struct MemberOf;
template <class Struct, class T, T Struct::* Member> struct MemberOf<Member> {
  using Type = T;
  static void* in(void* options) { return &(static_cast<Struct*>(options)->*Member); }
};

/// The member's name in the text of the function `option`. GCC: "… [with auto Member = &etude::DenseOptions::units;
/// …]", Clang: "… [Member = &etude::DenseOptions::units]", and "(anonymous namespace)::" for what has no name.
constexpr std::string_view member_name_in(std::string_view text) {
  text.remove_prefix(text.find("Member = "));
  text = text.substr(0, text.find_first_of(";]"));
  while (text.ends_with(')')) text.remove_suffix(1);
  return text.substr(text.rfind(':') + 1);
}

template <std::size_t size> struct Characters {
  char text[size];
};
/// One array for each name, for any number of structs with such a member.
template <Characters name> inline constexpr auto interned = name;

}  // namespace detail

/// A row of a struct's table: a field with its documentation, which programs do not contain.
struct FieldRow {
  /// A text with the member's name. Every program with options parses these rows, so the name is extracted only where a
  /// table is built from them.
  const char* function;
  /// The address of the member in a struct of options.
  void* (*member)(void* options);
  /// The member's type.
  FieldType type;
  /// Whether configs and JavaScript must set it.
  bool required;
  /// The meaning of the option, with its unit.
  const char* text;

  /// The member's name.
  constexpr std::string_view name() const { return detail::member_name_in(function); }
};

namespace detail {

template <class Part> inline constexpr std::size_t rows_in = 1;
template <std::size_t size> inline constexpr std::size_t rows_in<std::array<FieldRow, size>> = size;

}  // namespace detail

/// Identifies the type T.
template <class T> inline constexpr FieldType field_type = &detail::type_tag<T>;

/// The row of a member. `text` describes its meaning in one line, with its unit.
template <auto Member> constexpr FieldRow option(const char* text, Need need = Need::optional) {
  using Of = detail::MemberOf<Member>;
  return {__PRETTY_FUNCTION__, Of::in, field_type<typename Of::Type>, need == Need::required, text};
}

/// Concatenates rows, and the rows of other functions.
template <class... Parts> constexpr auto option_rows(const Parts&... parts) {
  std::array<FieldRow, (0 + ... + detail::rows_in<Parts>)> result{};
  [[maybe_unused]] auto next = result.begin();
  [[maybe_unused]] const auto append = [&](const auto& part) {
    if constexpr (requires { part.begin(); })
      next = std::ranges::copy(part, next).out;
    else
      *next++ = part;
  };
  (append(parts), ...);
  return result;
}

/// A struct of options.
template <class T>
concept HasFields = requires { T::fields(); };

namespace detail {

template <HasFields Options> inline constexpr auto rows_of = Options::fields();

/// The name of row `index`.
template <HasFields Options, std::size_t index>
inline constexpr auto characters_of = [] {
  constexpr std::string_view name = rows_of<Options>[index].name();
  Characters<name.size() + 1> result{};
  std::ranges::copy(name, result.text);
  return result;
}();

}  // namespace detail

/// Its fields, in their order.
template <HasFields Options>
inline constexpr auto fields_of = []<std::size_t... index>(std::index_sequence<index...>) {
  constexpr auto& rows = detail::rows_of<Options>;
  return std::array<Field, sizeof...(index)>{Field{detail::interned<detail::characters_of<Options, index>>.text,
                                                   rows[index].member, rows[index].type, rows[index].required}...};
}(std::make_index_sequence<detail::rows_of<Options>.size()>());

/// The options of a class without options.
struct NoOptions {
  static constexpr auto fields() { return option_rows(); }
};

}  // namespace etude
