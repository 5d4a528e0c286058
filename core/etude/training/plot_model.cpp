#include "etude/training/plot_model.hpp"

#include <algorithm>
#include <string_view>

#include "etude/base/detail/run_program.hpp"
#include "etude/base/error.hpp"
#include "etude/base/host.hpp"
#include "etude/training/model_to_dot.hpp"

namespace etude {
namespace {

constexpr const char* where = "plot_model";

/// The ending of a file's name, in small letters.
std::string format_of(const std::string& to_file) {
  const std::string_view path = to_file, name = path.substr(path.find_last_of('/') + 1);
  if (name.find('.') == name.npos) return "png";
  std::string format(name.substr(name.find_last_of('.') + 1));
  std::ranges::transform(format, format.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  const auto in_format = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  check(!name.empty() && !format.empty() && std::ranges::all_of(format, in_format), ErrorKind::value, where,
        "to_file = \"", to_file, "\" - expected a name that ends in a format, such as .svg - set to_file.");
  return format;
}

}  // namespace

void plot_model(const Model& model, const PlotModelOptions& o) {
  const std::string format = format_of(o.to_file);
  const std::string dot = model_to_dot(model, {.show_shapes = o.show_shapes,
                                               .show_dtype = o.show_dtype,
                                               .show_layer_names = o.show_layer_names,
                                               .rankdir = o.rankdir,
                                               .expand_nested = o.expand_nested,
                                               .dpi = o.dpi,
                                               .show_layer_activations = o.show_layer_activations,
                                               .show_trainable = o.show_trainable});
  if (format == "dot" || format == "gv") return vfs_or_host(nullptr, where)->replace(o.to_file, {dot});
  static_cast<void>(system_path(o.to_file, "written"));
  const ProgramEnd end = run_program("dot", {"-T" + format, "-o" + o.to_file}, dot);
  check(end.found, ErrorKind::state, where,
        "no program \"dot\" - expected that of Graphviz - install it (on Debian: apt-get install graphviz), or write a "
        "file .dot.");
  check(end.status == 0, ErrorKind::io, where, "\"dot\" ended with status ", end.status, ": ",
        end.output.substr(0, std::min(end.output.find('\n'), std::size_t{200})), " - expected it to write \"",
        o.to_file, "\" - check the format and the folder.");
}

}  // namespace etude
