#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <thread>

namespace etude {

/// A thread that does `work`; nothing where the system has no more threads. Then the work of a thread has to be done
/// without it: a process warns of that once, naming `what` wanted the thread.
std::optional<std::thread> started_thread(std::function<void()> work, std::string_view what);

/// For tests: asked before each thread is started; where it says true, the thread is refused as the system refuses one.
std::function<bool()>& thread_fault();

}  // namespace etude
