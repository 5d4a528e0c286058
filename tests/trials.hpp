#pragma once

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etude/experiment/context.hpp"
#include "etude/experiment/training_callback.hpp"
#include "etude/saving/detail/json.hpp"
#include "interrupted_runs.hpp"

/// Trials in memory.
namespace etude::experiment {

using namespace samples;

inline std::string text_in(MemoryVfs& files, const std::string& path) {
  const std::vector<std::byte> bytes = files.read(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The lines of a file of JSON Lines.
inline std::vector<Json> lines_in(MemoryVfs& files, const std::string& path) {
  std::vector<Json> lines;
  const std::string text = text_in(files, path);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(end != text.npos);
    lines.push_back(parse_json(std::string_view(text).substr(begin, end - begin), path));
    begin = end + 1;
  }
  return lines;
}

/// The reported groups and steps: "validation 6".
inline Texts reports_in(MemoryVfs& files) {
  Texts reports;
  for (const Json& line : lines_in(files, "trial/metrics.jsonl"))
    if (line.contains("group"))
      reports.push_back(line["group"].get<std::string>() + ' ' + std::to_string(line["steps_completed"].get<int>()));
  return reports;
}

/// A detached trial, whose program may be started several times.
struct Trial {
  std::shared_ptr<MemoryVfs> files = std::make_shared<MemoryVfs>();
  TrainingOptions training = {};
  Config config = {.trial = {.trial_id = "1"}, .storage = "trial", .tensorboard = false};
  Script script = {.optimizer = "adam", .epochs = 2};

  Config with_files() const {
    Config result = config;
    result.files = files;
    return result;
  }
  /// Starts the program, which may be interrupted at a hook.
  Outcome run(std::optional<int> interrupt_at = {}) {
    Context context(with_files());
    Script started = script;
    started.further.push_back(std::make_shared<TrainingCallback>(context, training));
    return started.run(interrupt_at);
  }
  std::vector<StoredCheckpoint> checkpoints() const { return list_checkpoints("trial/checkpoints", files); }
};

/// Requests the end of the trial during a hook, counted as by Interrupter.
class Requester : public Interrupter {
 public:
  Requester(bool& request, int hook) : Interrupter(hook), request_(request) {}

 protected:
  void interrupt() override { request_ = true; }

 private:
  bool& request_;
};

}  // namespace etude::experiment
