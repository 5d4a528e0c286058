/// Sets the JavaScript spelling of errors when the module starts.
#include "spelling.hpp"

#include "bind.hpp"

namespace etude::js {

EMSCRIPTEN_BINDINGS(spelling) { etude::host().spelling = spell; }

}  // namespace etude::js
