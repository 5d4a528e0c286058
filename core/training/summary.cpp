#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "etude/training/model.hpp"

namespace etude {
namespace {

using Row = std::array<std::string, 3>;

/// Characters, not bytes: box drawings take three bytes each.
std::string pad(const std::string& text, std::size_t width) {
  return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
}

std::string repeat(std::string_view text, std::size_t count) {
  std::string result;
  while (count--) result += text;
  return result;
}

std::string with_commas(std::int64_t number) {
  std::string digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units{"B", "KB", "MB", "GB"};
  auto amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (amount >= 1024 && unit + 1 < units.size()) amount /= 1024, ++unit;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %s", amount, units[unit]);
  return text.data();
}

/// The shape of any batch: the first axis is None.
std::string batch_shape(const std::optional<Shape>& shape) {
  if (!shape) return "?";
  std::string text = "(None";
  for (std::size_t i = 1; i < shape->rank(); ++i)
    text += ", " + std::to_string((*shape)[static_cast<std::ptrdiff_t>(i)]);
  return text + (shape->rank() == 1 ? ",)" : ")");
}

struct Total {
  std::int64_t count = 0, bytes = 0;
  void add(const Variable& variable) {
    count += variable.size();
    bytes += static_cast<std::int64_t>(variable.bytes());
  }
  std::string text(const char* label) const {
    return std::string(" ") + label + ": " + with_commas(count) + " (" + bytes_text(bytes) + ")\n";
  }
};

}  // namespace

void Model::summary(const SummaryOptions& options) const {
  std::vector<Row> rows{{"Layer (type)", "Output Shape", "Param #"}};
  for (const LayerPtr& layer : layers())
    rows.push_back({layer->name() + " (" + std::string(layer->class_name()) + ')', batch_shape(layer->output_shape()),
                    layer->built() ? with_commas(layer->count_params()) : "0 (unbuilt)"});
  std::array<std::size_t, 3> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());

  const auto rule = [&](const char* left, const char* line, const char* middle, const char* right) {
    return left + repeat(line, widths[0] + 2) + middle + repeat(line, widths[1] + 2) + middle +
           repeat(line, widths[2] + 2) + right + '\n';
  };
  const auto cells = [&](const Row& row, const char* edge, const char* bar) {
    return edge + (' ' + pad(row[0], widths[0])) + ' ' + bar + ' ' + pad(row[1], widths[1]) + ' ' + bar + ' ' +
           std::string(widths[2] - row[2].size(), ' ') + row[2] + ' ' + edge + '\n';
  };
  std::string text =
      "Model: \"" + name() + "\"\n" + rule("┏", "━", "┳", "┓") + cells(rows[0], "┃", "┃") + rule("┡", "━", "╇", "┩");
  for (std::size_t i = 1; i < rows.size(); ++i)
    text += (i > 1 ? rule("├", "─", "┼", "┤") : "") + cells(rows[i], "│", "│");
  text += rule("└", "─", "┴", "┘");

  Total trainable, frozen, all;
  const std::vector<Variable> trained = trainable_variables();
  for (const Variable& weight : weights()) {
    all.add(weight);
    (std::ranges::find(trained, weight) == trained.end() ? frozen : trainable).add(weight);
  }
  text += all.text("Total params") + trainable.text("Trainable params") + frozen.text("Non-trainable params");
  if (options.print_fn)
    options.print_fn(text);
  else
    std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace etude
