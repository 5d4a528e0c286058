/// The program that declares the module for TypeScript: it is linked with --emit-tsd, and prints the types of all
/// options, which the build of web/ writes into options.d.mts. Nobody downloads it.
#ifdef ETUDE_DECLARATIONS
#include <cstdio>

#include "bind.hpp"

int main() {
  for (const auto& [name, declaration] : etude::js::declarations()) std::puts(declaration.c_str());
}
#endif
