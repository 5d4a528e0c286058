#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// What a callback has to remember so that a fit which is interrupted and started again goes on as if it had not been:
/// numbers, texts and tensors by name. Numbers are kept to the bit.
///
///     CallbackState state("EarlyStopping");
///     state.set("wait", 3);
///     …
///     wait_ = static_cast<int>(state.number("wait"));
class CallbackState {
 public:
  /// Tensors by name.
  using Entries = std::vector<std::pair<std::string, Tensor>>;

  CallbackState() = default;
  /// `kind` tells whose it is: a name without "/". Several callbacks of one kind are told apart by their order.
  explicit CallbackState(std::string kind, Entries entries = {})
      : kind_(std::move(kind)), entries_(std::move(entries)) {}

  /// Whose state it is.
  const std::string& kind() const { return kind_; }
  /// All that is remembered.
  const Entries& entries() const { return entries_; }
  /// Nothing to remember: such a state is neither saved nor restored.
  bool empty() const { return entries_.empty(); }

  /// Remembers a tensor, or a number.
  void set(std::string name, Tensor value) { entries_.emplace_back(std::move(name), std::move(value)); }
  void set(std::string name, double number) { set(std::move(name), Tensor::from<double>({}, {number})); }
  void set(std::string name, const std::optional<double>& number) {
    if (number) set(std::move(name), *number);
  }
  /// Remembers a text.
  void set_text(std::string name, std::string_view text);
  /// "best_weights/0", "best_weights/1", …
  void set(const std::string& name, const std::vector<Tensor>& values);

  /// Whether something of that name is remembered.
  bool contains(std::string_view name) const;
  /// Throw Error(data), naming what is not there.
  const Tensor& tensor(std::string_view name) const;
  /// The number of that name.
  double number(std::string_view name) const { return tensor(name).item(); }
  /// The text of that name.
  std::string text(std::string_view name) const;
  /// Nothing if it is not there.
  std::optional<double> number_if(std::string_view name) const;
  /// As many as were set.
  std::vector<Tensor> tensors(const std::string& name) const;

 private:
  std::string kind_;
  Entries entries_;
};

}  // namespace etude
