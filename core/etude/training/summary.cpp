#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "etude/base/detail/number.hpp"
#include "etude/training/model.hpp"

namespace etude {
namespace {

using Row = std::vector<std::string>;

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
  return formatted("%.2f ", amount) + units[unit];
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
  if (const std::vector<std::string> inputs = connections(); !inputs.empty()) {
    rows[0].emplace_back("Connected to");
    for (std::size_t i = 0; i < std::min(inputs.size(), rows.size() - 1); ++i) rows[i + 1].push_back(inputs[i]);
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());

  const auto rule = [&](const char* left, const char* line, const char* middle, const char* right) {
    std::string result;
    for (const std::size_t width : widths) result += (result.empty() ? left : middle) + repeat(line, width + 2);
    return result + right + '\n';
  };
  const auto cells = [&](const Row& row, const char* edge, const char* bar) {
    std::string result;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      result += std::string(i ? bar : edge) + ' ' + (i == 2 ? space + row[i] : row[i] + space) + ' ';
    }
    return result + edge + '\n';
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
