#include "golden.hpp"

#include "etude/base/vfs.hpp"

nlohmann::json etude::testing::golden(const std::string& name) {
  const auto bytes = read_file(ETUDE_GOLDEN_DIR "/" + name);
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  return nlohmann::json::parse(text, text + bytes.size());
}
