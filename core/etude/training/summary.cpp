#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "etude/base/detail/number.hpp"
#include "etude/base/error.hpp"
#include "etude/base/messages.hpp"
#include "etude/training/detail/layer_text.hpp"
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

/// The places of the first and after the last layer of a range; names match from their beginnings, as in Keras.
std::pair<std::size_t, std::size_t> places_of(const std::vector<std::string>& range,
                                              const std::vector<LayerPtr>& layers, const std::string& where) {
  if (range.empty()) return {0, layers.size()};
  const auto matches = [&](std::size_t end) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (layers[i]->name().starts_with(range[end])) places.push_back(i);
    return places;
  };
  check(range.size() == 2, ErrorKind::value, where, "layer_range of ", range.size(),
        " names - expected two: of the first and of the last layer - pass both.");
  const std::vector<std::size_t> first = matches(0), last = matches(1);
  check(!first.empty() && !last.empty(), ErrorKind::value, where, "layer_range \"", range[0], "\", \"", range[1],
        "\" - expected names of layers - see model.layers().");
  if (first.front() > last.back()) return {last.front(), first.back() + 1};
  return {first.front(), last.back() + 1};
}

/// The rows of the table.
class Rows {
 public:
  Rows(const SummaryOptions& options, bool has_connections) : options_(options), has_connections_(has_connections) {
    rows.push_back({"Layer (type)", "Output Shape", "Param #"});
    if (has_connections_) rows[0].emplace_back("Connected to");
    if (options_.show_trainable) rows[0].emplace_back("Trainable");
  }

  void add(const Layer& layer, const std::string& connections = "-", std::size_t level = 0) {
    const std::string prefix = level ? repeat("   ", level) + "└ " : "";
    Row row{prefix + layer.name() + " (" + std::string(layer.class_name()) + ')', output_shapes_text(layer),
            layer.built() ? with_commas(layer.count_params()) : "0 (unbuilt)"};
    if (has_connections_) row.push_back(connections);
    if (options_.show_trainable) row.emplace_back(layer.weights().empty() ? "-" : layer.trainable() ? "Y" : "N");
    rows.push_back(std::move(row));
    if (!options_.expand_nested || !dynamic_cast<const Model*>(&layer)) return;
    for (const LayerPtr& inner : layer.layers()) add(*inner, "-", level + 1);
  }

  std::vector<Row> rows;

 private:
  const SummaryOptions& options_;
  bool has_connections_;
};

/// The columns that a text takes: all characters here take one, but some have several bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void Model::summary(const SummaryOptions& options) const {
  static_cast<void>(layers_inside());  // throws if they are nested too deep
  const std::vector<std::string> inputs = connections();
  const std::vector<LayerPtr> all_layers = layers();
  Rows table(options, !inputs.empty());
  const auto [first, last] = places_of(options.layer_range, all_layers, where());
  for (std::size_t i = first; i < last; ++i) table.add(*all_layers[i], i < inputs.size() ? inputs[i] : "-");
  const std::vector<Row>& rows = table.rows;
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));

  const auto rule = [&](const char* left, const char* line, const char* middle, const char* right) {
    std::string result;
    for (const std::size_t width : widths) result += (result.empty() ? left : middle) + repeat(line, width + 2);
    return result + right + '\n';
  };
  const auto cells = [&](const Row& row, const char* edge, const char* bar) {
    std::string result;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t space = widths[i] - width_of(row[i]);
      const bool is_flag = options.show_trainable && i + 1 == row.size();  // centered
      const std::size_t before = i == 2 ? space : is_flag ? space / 2 : 0;
      result += std::string(i ? bar : edge) + ' ' + std::string(before, ' ') + row[i] +
                std::string(space - before, ' ') + ' ';
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
  print_text(options.print_fn, text);
}

}  // namespace etude
