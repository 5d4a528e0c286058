/// Core speaks JavaScript from the module's start.
#include "spelling.hpp"

#include "bind.hpp"

namespace etude::js {

EMSCRIPTEN_BINDINGS(spelling) { etude::host().spelling = spell; }

}  // namespace etude::js
