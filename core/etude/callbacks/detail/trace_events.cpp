#include "etude/callbacks/detail/trace_events.hpp"

#include <cmath>
#include <exception>

#include "etude/base/detail/clock.hpp"
#include "etude/execution/cost.hpp"
#include "etude/execution/explain.hpp"

namespace etude {
namespace {

std::string text_of_event(std::string_view name, std::string_view category, std::string_view arguments) {
  return "\"name\": \"" + std::string(name) + "\", \"cat\": \"" + std::string(category) +
         "\", \"args\": " + std::string(arguments);
}

std::string integer(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

std::int64_t nanoseconds(double start, double time) {
  return static_cast<std::int64_t>(std::floor(1e9 * (time - start)));
}

std::string microseconds(std::int64_t nanoseconds) {
  const std::string fraction = std::to_string(1000 + nanoseconds % 1000);
  return std::to_string(nanoseconds / 1000) + '.' + fraction.substr(1);
}

/// The bytes that an all-reduce sums in each replica.
double summed_bytes(const instruction::AllReduce& all_reduce) {
  double bytes = 0;
  for (const auto& part : all_reduce.parts)
    bytes += static_cast<double>(part.count) * static_cast<double>(size_of(part.in.dtype));
  return bytes;
}

/// A range of a device, during its lifetime.
class Range {
 public:
  Range(Device& device, std::string_view name) : device_(device) { device_.begin_range(name); }
  ~Range() { device_.end_range(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Device& device_;
};

}  // namespace

std::string trace_microseconds(double start, double time) { return microseconds(nanoseconds(start, time)); }

void TraceEvents::run(const Plan& plan, std::span<const Instruction> instructions) {
  for (const Instruction& instruction : instructions) {
    const Range range(device_, name_of(instruction));
    const double began = monotonic_seconds();
    plan.device().run(instruction, plan.addresses());
    if (waits_) wait(plan);
    const double ended = monotonic_seconds();
    events_.push_back({text_for(plan, instruction), began, ended});
  }
}

/// A device that has its own memory runs all that was enqueued before it answers a read.
void TraceEvents::wait(const Plan& plan) const {
  std::byte byte{};
  if (const auto& memory = plan.arena().storage()) memory->read(0, &byte, 1);
}

void TraceEvents::end(const Plan& plan, const Instruction& all_reduce, double began) {
  try {
    if (waits_) wait(plan);
    const double ended = monotonic_seconds();
    events_.push_back({text_for(plan, all_reduce), began, ended});
  } catch (const std::exception&) {  // the next call of the device reports its error
  }
  device_.end_range();
}

void TraceEvents::end(std::string_view name, double began) {
  end(name, "{}", began);
  if (name == "trace") known_.clear();
}

void TraceEvents::end(std::string_view name, const std::string& arguments, double began) {
  add(name, arguments, began);
  device_.end_range();
}

void TraceEvents::hooks_follow() {
  // A callback's evaluate says it too, within the hooks.
  if (hooks_began_ == 0) hooks_began_ = monotonic_seconds();
}

void TraceEvents::add(std::string_view name, std::string_view arguments, double began) {
  const double ended = monotonic_seconds();
  events_.push_back({texts_.size(), began, ended});
  texts_.push_back(text_of_event(name, "loop", arguments));
}

void TraceEvents::add_hooks() {
  if (hooks_began_ != 0) add("callbacks", "{}", hooks_began_);
  forget_hooks();
}

std::size_t TraceEvents::text_for(const Plan& plan, const Instruction& instruction) {
  const auto [place, is_new] = known_.try_emplace(&instruction, texts_.size());
  if (!is_new) return place->second;
  const auto* const all_reduce = std::get_if<instruction::AllReduce>(&instruction);
  const Cost cost = cost_of(instruction);
  std::string arguments = "{\"instruction\": \"" + text_of(instruction, device_) + '"';
  const std::vector<Instruction>& all = plan.instructions();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (&all[i] == &instruction) arguments += ", \"number\": " + std::to_string(i);
  arguments += ", \"operations\": " + integer(cost.operations) +
               ", \"bytes\": " + integer(all_reduce ? summed_bytes(*all_reduce) : cost.bytes) + '}';
  texts_.push_back(
      text_of_event(name_of(instruction), is_all_reduce(instruction) ? "all_reduce" : "instruction", arguments));
  return place->second;
}

void TraceEvents::write(std::string& text, double start, int process, std::size_t thread) const {
  const std::string place =
      ", \"pid\": " + std::to_string(process) + ", \"tid\": " + std::to_string(thread) + ", \"ts\": ";
  for (const Event& event : events_) {
    const std::int64_t began = nanoseconds(start, event.began), ended = nanoseconds(start, event.ended);
    text += ",\n{\"ph\": \"X\", " + texts_[event.text] + place + microseconds(began) +
            ", \"dur\": " + microseconds(ended - began) + '}';
  }
}

}  // namespace etude
