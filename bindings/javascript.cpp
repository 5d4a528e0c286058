#include "javascript.hpp"

#include <array>
#include <map>
#include <new>

namespace etude::js {
namespace {

std::string_view name_of(ErrorKind kind) {
  constexpr std::array names{"value", "shape", "dtype", "state", "data", "io", "internal"};
  return names[static_cast<std::size_t>(kind)];
}

val etude_error(const char* text, ErrorKind kind) {
  return host("nativeError")(std::string(text), std::string(name_of(kind)));
}

std::map<unsigned, std::shared_ptr<Settlement>> awaited;
unsigned last_awaited = 0;

/// Called when a promise that core awaits is settled; resumes core.
void settle(unsigned id, bool fulfilled, val value) {
  const std::shared_ptr<Settlement> settlement = awaited.extract(id).mapped();
  settlement->value = std::move(value);
  settlement->rejected = !fulfilled;
  if (settlement->waiter) settlement->waiter.resume();
}

}  // namespace

const val& host(const char* name) {
  static std::map<std::string, val, std::less<>> known;
  if (const auto found = known.find(std::string_view(name)); found != known.end()) return found->second;
  return known.emplace(name, val::module_property("host")[name]).first->second;
}

val or_throw(val result) {
  if (host("isThrown")(result).as<bool>()) throw Thrown{result["error"]};
  return result;
}

val current_error() {
  try {
    throw;
  } catch (const Thrown& thrown) {
    return thrown.value;
  } catch (const Error& error) {
    return etude_error(error.what(), error.kind());
  } catch (const std::bad_alloc&) {
    return etude_error(
        "[memory] no more memory - expected the data to fit into 4 GB of WebAssembly memory, and what the "
        "browser allows - use smaller batches, or train on a generator.",
        ErrorKind::internal);
  } catch (const std::exception& error) {
    return etude_error(error.what(), ErrorKind::internal);
  }
}

bool is_promise(const val& value) {
  return type_of(value) == "object" && !value.isNull() && type_of(value["then"]) == "function";
}
std::string type_of(const val& value) { return value.typeOf().as<std::string>(); }
std::string describe(const val& value) { return host("describe")(value).as<std::string>(); }

void PromisePending::on_ready(std::coroutine_handle<> resume) {
  settlement_->waiter = resume;
  awaited.emplace(++last_awaited, settlement_);
  host("whenSettled")(promise_, last_awaited);
}

EMSCRIPTEN_BINDINGS(javascript) { emscripten::function("settle(id, fulfilled, value)", settle); }

}  // namespace etude::js
