#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <thread>

namespace etude {

/// Starts a thread that does `work`; empty if the system has no more threads. Then the caller must do the work.
/// The process warns once, with `what` as the thread's purpose.
std::optional<std::thread> started_thread(std::function<void()> work, std::string_view what);

/// For tests: called before each thread is started. If it returns true, the thread is refused as the system would.
std::function<bool()>& thread_fault();

}  // namespace etude
