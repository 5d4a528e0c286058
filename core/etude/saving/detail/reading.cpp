#include "etude/saving/detail/reading.hpp"

#include <functional>
#include <vector>

#include "etude/base/bytes_awaited.hpp"
#include "etude/base/host.hpp"

namespace etude {

Task<> Reading::repeat(void (*call)(void* step), void* step) {
  std::vector<std::function<void()>> forget;
  for (bool done = false; !done;) {
    PendingPtr awaited;
    try {
      const FilesScope scope(files_);
      call(step);
      done = true;
    } catch (BytesAwaited& missing) {
      awaited = std::move(missing.pending);
      if (missing.forget) forget.push_back(std::move(missing.forget));
    }
    if (awaited) co_await std::move(awaited);
  }
  for (const auto& each : forget) each();
}

}  // namespace etude
