#include "etude/distribute/workers.hpp"

namespace etude {
namespace {

std::string text_of(int peer, std::string_view operation, int generation, std::string_view cause) {
  std::string text = "[";
  append_text(text, operation);
  append_text(text, "] ");
  if (peer < 0) {
    append_text(text, "a process");
  } else {
    append_text(text, "the process of rank ");
    append_text(text, peer);
  }
  append_text(text, " failed (");
  append_text(text, cause);
  append_text(text, "), after ");
  append_text(text, generation);
  append_text(text,
              " restarts - expected all processes to take part - start all of them again from the last checkpoint.");
  return text;
}

}  // namespace

CollectiveError::CollectiveError(int peer, std::string_view operation, int generation, std::string_view cause)
    : Error(ErrorKind::state, text_of(peer, operation, generation, cause)),
      peer_(peer),
      generation_(generation),
      operation_(operation) {}

void Workers::give_up(const char* operation, const std::string& cause, bool own) {
  throw CollectiveError(own ? rank() : -1, operation, 0, cause);
}

std::vector<std::int64_t> Workers::all_gather(std::int64_t own) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count()));
  const std::vector<std::size_t> sizes(all.size(), sizeof own);
  all_gather(std::as_bytes(std::span(&own, 1)), sizes, std::as_writable_bytes(std::span(all)).data());
  return all;
}

}  // namespace etude
