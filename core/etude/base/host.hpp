#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "etude/base/detail/termination.hpp"
#include "etude/base/http.hpp"
#include "etude/base/task.hpp"
#include "etude/base/vfs.hpp"

namespace etude {

/// Whether `pattern`, a regular expression of ECMAScript, matches anywhere in `text`, as in Python's re.search. Throws
/// std::invalid_argument with the reason if it is not a regular expression.
using PatternSearch = bool (*)(const std::string& pattern, const std::string& text);

/// `text` with `replacement` in place of each match of a regular expression of ECMAScript; $1 in it is what the first
/// group matched. Throws std::invalid_argument with the reason if `pattern` is not a regular expression.
using PatternReplace = std::string (*)(const std::string& pattern, const std::string& replacement,
                                       const std::string& text);

/// Appends a literal of core to an error's text, in the spelling of the host's language: `steps_per_epoch` and `{.units
/// = 10}` are C++. Quoted text is a name, and is not changed.
using Spelling = void (*)(std::string& text, std::string_view literal);

/// Where text for users goes: progress and results, and warnings.
enum class Console { output, warnings };
/// Writes text to a console, at once.
using ConsoleWrite = void (*)(Console console, std::string_view text);

/// Yields to the event loop: a page's frames, a server's requests. The loops call it between executions, so it should
/// mostly return null.
using HostYield = PendingPtr (*)();

/// The services of the program that embeds Étude. Natively they are those of the system; a WebAssembly module gets
/// those of JavaScript. Set them before the first model is created.
struct Host {
  /// Null if there are no files, as in a page.
  std::shared_ptr<Vfs> files;
  /// Regular expressions. Natively std::regex, which would be a tenth of a WebAssembly module.
  PatternSearch search = nullptr;
  /// The same, to replace text.
  PatternReplace replace = nullptr;
  /// The console. Natively stdout and stderr.
  ConsoleWrite write = nullptr;
  /// HTTP. Empty by default: Étude has no network code of its own.
  HttpTransport post;
  /// Null: the loops do not wait.
  HostYield yield = nullptr;
  /// Watches for requests to end: natively by a handler of SIGTERM, while the object exists. Empty if there are no
  /// signals.
  WatchTermination watch_termination;
  /// Null: literals are not changed.
  Spelling spelling = nullptr;
};

/// The host of this process.
Host& host();

/// A literal in the spelling of the host, for a text that `check` does not build.
std::string spelled(std::string_view literal);
/// Sets the files of the functions that load and save models, on this thread and while the object exists, in place of
/// host().files.
///
///     const FilesScope scope(memory);
///     model.save("model.keras");
class FilesScope {
 public:
  /// With null, the files stay as they are.
  explicit FilesScope(std::shared_ptr<Vfs> files);
  ~FilesScope();
  FilesScope(const FilesScope&) = delete;
  FilesScope& operator=(const FilesScope&) = delete;

 private:
  const std::shared_ptr<Vfs> files_;
  const std::shared_ptr<Vfs>* const before_;
};

/// `chosen`, or the files of the thread's FilesScope, or those of the host. Throws Error(io) if all are null.
std::shared_ptr<Vfs> vfs_or_host(const std::shared_ptr<Vfs>& chosen, std::string_view where);
/// All bytes of a file of the FilesScope or of the host. Throws Error(io) with the system's reason.
std::vector<std::byte> read_file(const std::string& path);

}  // namespace etude
