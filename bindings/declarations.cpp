/// The program that declares the module for TypeScript: it is linked with --emit-tsd, and prints the types of all
/// options, which the build of web/ writes into options.d.mts. Pages do not download it.
#ifdef ETUDE_DECLARATIONS
#include <cstdio>

#include "bind.hpp"

namespace etude::js {
namespace {

/// The names that `find` takes, as it lists them in its error: a TypeScript type that is open to others.
template <class Find> void declare_names(const char* type, Find find) {
  std::string text;
  try {
    find("?");
  } catch (const Error& error) {
    text = error.what();
  }
  const std::string before = "expected one of: ";
  const std::size_t begin = text.find(before) + before.size(), end = text.find(" - ", begin);
  std::string names;
  for (std::string_view rest = std::string_view(text).substr(begin, end - begin); !rest.empty();) {
    const std::string_view name = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(name.size() + 2, rest.size()));
    names += "'" + std::string(name) + "' | ";
  }
  std::printf("export type %s = %s(string & {});\n", type, names.c_str());
}

void declare_all_names() {
  declare_names("ActivationName", [](const char* name) { activations::get(name); });
  declare_names("InitializerName", [](const char* name) { initializers::get(name); });
  declare_names("LossName", [](const char* name) { losses::get(name); });
  declare_names("MetricName", [](const char* name) { metrics::get(name, {}, {1}); });
  declare_names("OptimizerName", [](const char* name) { optimizers::get(name); });
  declare_names("RegularizerName", [](const char* name) { regularizers::get(name); });
}

}  // namespace
}  // namespace etude::js

int main() {
  etude::js::declare_all_names();
  for (const auto& [name, declaration] : etude::js::declarations()) std::puts(declaration.c_str());
}
#endif
