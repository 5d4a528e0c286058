#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "etude/execution/device.hpp"
#include "etude/execution/watcher.hpp"

namespace etude {

/// The work of one replica in the order of its ends, to be written as a track of Chrome's trace event format. Its
/// device also gets it, as ranges. One thread at a time.
class TraceEvents : public Watcher {
 public:
  /// `waits`: after each instruction it waits until the device has run it.
  TraceEvents(Device& device, bool runs, bool waits) : Watcher(runs), device_(device), waits_(waits) {}

  void run(const Plan& plan, std::span<const Instruction> instructions) override;
  void begin(std::string_view name) override { device_.begin_range(name); }
  void end(std::string_view name, double began) override;
  void end(const Plan& plan, const Instruction& all_reduce, double began) override;
  void hooks_follow() override;

  /// The innermost work ends, with its arguments as JSON, such as {"step": 3}.
  void end(std::string_view name, const std::string& arguments, double began);
  /// Adds "callbacks" if hooks_follow() was called since the last hook: the time since then.
  void add_hooks();
  /// A hook. Earlier results of hooks_follow() do not hold after it.
  void forget_hooks() { hooks_began_ = 0; }
  const Device& device() const { return device_; }

  /// Appends a line of JSON for each event, with a comma before it. `start` is the time that becomes 0.
  void write(std::string& text, double start, int process, std::size_t thread) const;

 private:
  struct Event {
    std::size_t text;
    double began, ended;
  };

  /// Adds work of the loop, which began at that time and ends now.
  void add(std::string_view name, std::string_view arguments, double began);
  /// The index of an instruction's text.
  std::size_t text_for(const Plan& plan, const Instruction& instruction);
  void wait(const Plan& plan) const;

  Device& device_;
  const bool waits_;
  std::vector<Event> events_;
  std::vector<std::string> texts_;  ///< name, category and arguments of an event, as JSON
  /// The texts of plans that exist. A trace may replace a plan by another one at the same address.
  std::map<const Instruction*, std::size_t> known_;
  double hooks_began_ = 0;
};

/// Microseconds from `start`, as JSON. It grows with `time`, so work within other work stays within it.
std::string trace_microseconds(double start, double time);

}  // namespace etude
