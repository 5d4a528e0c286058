#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"

namespace etude {

/// The state of a callback, with which an interrupted fit continues with the same results: numbers, texts and tensors
/// by name. Numbers are exact to the bit.
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
  /// `kind` is the name of the callback's class, without "/". Several callbacks of one kind are distinguished by their
  /// order.
  explicit CallbackState(std::string kind, Entries entries = {})
      : kind_(std::move(kind)), entries_(std::move(entries)) {}

  /// The kind of the callback.
  const std::string& kind() const { return kind_; }
  /// All entries.
  const Entries& entries() const { return entries_; }
  /// Whether there are no entries. An empty state is neither saved nor restored.
  bool empty() const { return entries_.empty(); }

  /// Stores a tensor, or a number.
  void set(std::string name, Tensor value) { entries_.emplace_back(std::move(name), std::move(value)); }
  void set(std::string name, double number) { set(std::move(name), Tensor::from<double>({}, {number})); }
  void set(std::string name, const std::optional<double>& number) {
    if (number) set(std::move(name), *number);
  }
  /// Stores a text.
  void set_text(std::string name, std::string_view text);
  /// Stores them as "best_weights/0", "best_weights/1", …
  void set(const std::string& name, const std::vector<Tensor>& values);

  /// Whether there is an entry of that name.
  bool contains(std::string_view name) const;
  /// Throw Error(data) with the name of a missing entry.
  const Tensor& tensor(std::string_view name) const;
  /// The number of that name.
  double number(std::string_view name) const { return tensor(name).item(); }
  /// The text of that name.
  std::string text(std::string_view name) const;
  /// Empty if the entry is missing.
  std::optional<double> number_if(std::string_view name) const;
  /// All tensors of that name.
  std::vector<Tensor> tensors(const std::string& name) const;

 private:
  std::string kind_;
  Entries entries_;
};

}  // namespace etude
