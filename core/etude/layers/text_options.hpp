#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace etude {

/// How texts are changed or divided: one of several names, a function, or not at all: `{}`.
class TextStep {
 public:
  /// The texts that a text becomes.
  using Function = std::function<std::vector<std::string>(const std::string&)>;
  TextStep() = default;
  /// By name; an unknown name is an Error(value) when a layer takes it.
  TextStep(const char* name) : name_(name) {}
  TextStep(std::string name) : name_(std::move(name)) {}
  /// Any function of a text that returns a text, or several.
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, TextStep> && std::invocable<F&, const std::string&>)
  TextStep(F function) {
    if constexpr (std::convertible_to<std::invoke_result_t<F&, const std::string&>, std::string>)
      function_ = [function = std::move(function)](const std::string& text) {
        return std::vector<std::string>{function(text)};
      };
    else
      function_ = std::move(function);
  }

  /// Whether it is neither a name nor a function.
  bool empty() const { return name_.empty() && !function_; }
  /// The name, or "".
  const std::string& name() const { return name_; }
  /// The function, if it was given as such.
  const Function& function() const { return function_; }

 private:
  std::string name_;
  Function function_;
};

/// The sizes of n-grams: 3 for those of 1, 2 and 3 tokens; {2, 3} for these only; {} for single tokens.
class NgramSizes {
 public:
  NgramSizes() = default;
  /// All sizes from 1 to this one.
  NgramSizes(std::int64_t up_to) : up_to_(up_to) {}
  /// These sizes.
  NgramSizes(std::initializer_list<std::int64_t> sizes) : sizes_(sizes) {}
  NgramSizes(std::vector<std::int64_t> sizes) : sizes_(std::move(sizes)) {}

  /// The largest size, if all up to it were chosen.
  const std::optional<std::int64_t>& up_to() const { return up_to_; }
  /// The sizes of a list.
  const std::vector<std::int64_t>& sizes() const { return sizes_; }

 private:
  std::optional<std::int64_t> up_to_;
  std::vector<std::int64_t> sizes_;
};

/// A string or an integer that is no data, or none: `{}`.
class MaskValue {
 public:
  MaskValue() = default;
  /// A string.
  MaskValue(const char* text) : text_(text) {}
  MaskValue(std::string text) : text_(std::move(text)) {}
  /// An integer.
  template <std::integral Number> MaskValue(Number number) : number_(number) {}

  /// The string, if it is one.
  const std::optional<std::string>& text() const { return text_; }
  /// The integer, if it is one.
  const std::optional<std::int64_t>& number() const { return number_; }

 private:
  std::optional<std::string> text_;
  std::optional<std::int64_t> number_;
};

}  // namespace etude
