#include "etude/experiment/search/detail/metrics_file.hpp"

#include <limits>
#include <span>

#include "etude/base/error.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A number of that name. JSON has no NaN, so that it is written as null.
std::optional<double> number_in(const Json& object, const std::string& name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  if (found == object.end() || !(found->is_number() || found->is_null())) return {};
  return found->is_null() ? not_a_number : found->get<double>();
}

bool is_text(const Json& object, const char* name, std::string_view text) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() && found->get_ref<const std::string&>() == text;
}

}  // namespace

MetricsLine parse_metrics_line(const std::string& line, const std::string& metric, const std::string& time_metric) {
  using Kind = MetricsLine::Kind;
  Json json;
  try {
    json = parse_json(line, "metrics.jsonl");
  } catch (const Error&) {
    return {.kind = Kind::damaged};
  }
  if (!json.is_object()) return {.kind = Kind::damaged};
  if (is_text(json, "status", "invalid_hp")) return {.kind = Kind::invalid};
  if (is_text(json, "group", "validation")) {
    const Json metrics = json.value("metrics", Json::object());
    std::optional<double> time = number_in(json, time_metric);
    if (!time) time = number_in(metrics, time_metric);
    std::optional<double> value = number_in(metrics, metric);
    // Keras's name, which the line of a validation has without the prefix.
    if (!value && metric.starts_with("val_")) value = number_in(metrics, metric.substr(4));
    return {.kind = Kind::validation, .metric = value, .time = time};
  }
  if (const std::optional<double> progress = number_in(json, "progress"))
    return {.kind = Kind::progress, .progress = *progress};
  return {};
}

std::vector<std::string> new_lines(Vfs& files, const std::string& path, std::uint64_t& from) {
  std::vector<std::string> lines;
  if (files.kind(path) != PathKind::file) return lines;
  const auto source = files.source(path);
  if (source->size() <= from) return lines;
  std::string text(static_cast<std::size_t>(source->size() - from), '\0');
  source->read(from, std::as_writable_bytes(std::span(text)));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
  from += begin;
  return lines;
}

void truncate(Vfs& files, const std::string& path, std::uint64_t end) {
  if (files.kind(path) != PathKind::file || files.size(path) <= end) return;
  std::string kept(static_cast<std::size_t>(end), '\0');
  files.source(path)->read(0, std::as_writable_bytes(std::span(kept)));
  files.replace(path, {kept});
}

}  // namespace etude::experiment
