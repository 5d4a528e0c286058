/// Core speaks JavaScript from the module's start.
#include "spelling.hpp"

#include "bind.hpp"

namespace etude::js {

EMSCRIPTEN_BINDINGS(spelling) { host_spelling() = spell; }

}  // namespace etude::js
