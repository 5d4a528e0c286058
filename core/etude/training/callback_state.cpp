#include "etude/training/callback_state.hpp"

#include <algorithm>
#include <span>

#include "etude/base/error.hpp"

namespace etude {
namespace {

std::string numbered(const std::string& name, std::size_t number) { return name + '/' + std::to_string(number); }

}  // namespace

void CallbackState::set_text(std::string name, std::string_view text) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  set(std::move(name), Tensor::from({std::ssize(text)}, std::span(bytes, text.size())));
}

void CallbackState::set(const std::string& name, const std::vector<Tensor>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) set(numbered(name, i), values[i]);
}

bool CallbackState::contains(std::string_view name) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry.first == name; });
}

const Tensor& CallbackState::tensor(std::string_view name) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry.first == name; });
  check(found != entries_.end(), ErrorKind::data, kind_, "a state without \"", name,
        "\" - expected the result of its state() - start the training again, in another folder.");
  return found->second;
}

std::string CallbackState::text(std::string_view name) const {
  const Tensor& bytes = tensor(name);
  return {reinterpret_cast<const char*>(bytes.raw()), bytes.bytes()};
}

std::optional<double> CallbackState::number_if(std::string_view name) const {
  return contains(name) ? std::optional(number(name)) : std::nullopt;
}

std::vector<Tensor> CallbackState::tensors(const std::string& name) const {
  std::vector<Tensor> values;
  while (contains(numbered(name, values.size()))) values.push_back(tensor(numbered(name, values.size())));
  return values;
}

}  // namespace etude
