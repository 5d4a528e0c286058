#include "golden_path.hpp"

namespace etude::testing {

std::string golden_path(const std::string& name) { return ETUDE_GOLDEN_DIR "/" + name; }

}  // namespace etude::testing
