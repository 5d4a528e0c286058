#include "etude/distribute/cluster.hpp"

namespace etude {

std::shared_ptr<Workers> connect_workers(const Cluster&, WorkerOptions) {
  fail(
      ErrorKind::state, "connect_workers",
      "a build without Gloo - expected the library that connects processes - install Gloo (libgloo-dev on Debian), and "
      "build Étude again.");
}

}  // namespace etude
