#include "etude/experiment/train_context.hpp"

#include <algorithm>
#include <cmath>

#include "etude/base/detail/clock.hpp"
#include "etude/base/error.hpp"
#include "etude/callbacks/detail/event_file.hpp"
#include "etude/experiment/cluster_info.hpp"
#include "etude/saving/detail/json.hpp"

namespace etude::experiment {
namespace {

constexpr const char* where = "experiment";

/// The group and the number of steps of a line; no group for other lines, and for damaged ones.
std::pair<std::string, std::int64_t> steps_in(std::string_view line, const std::string& path) {
  try {
    const Json json = parse_json(line, path);
    if (json.is_object() && json.contains("group") && json.at("steps_completed").is_number_integer())
      return {json.at("group").get<std::string>(), json.at("steps_completed").get<std::int64_t>()};
  } catch (const Error&) {
    // Not JSON, as a loss of power may leave it.
  } catch (const Json::exception&) {
    // Another line.
  }
  return {};
}

}  // namespace

TrainContext::TrainContext(const ClusterInfo& info, std::shared_ptr<Vfs> files, bool is_chief, bool tensorboard)
    : storage_(info.storage),
      path_(info.storage + "/metrics.jsonl"),
      files_(std::move(files)),
      is_chief_(is_chief),
      tensorboard_(tensorboard),
      continues_(!info.detached) {
  if (is_chief_) open();
}

TrainContext::~TrainContext() = default;

void TrainContext::open() {
  files_->make_folders(storage_);
  lock_ = files_->lock(storage_ + "/LOCK");
  if (files_->kind(path_) == PathKind::file) {
    const std::vector<std::byte> bytes = files_->read(path_);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t end = text.find_last_of('\n'), complete = end == text.npos ? 0 : end + 1;
    if (complete < text.size()) files_->replace(path_, {text.substr(0, complete)});
    for (std::size_t begin = 0; begin < complete;) {
      const std::size_t next = text.find('\n', begin) + 1;
      const auto [group, steps] = steps_in(text.substr(begin, next - 1 - begin), path_);
      if (!group.empty()) reported_[group] = std::max(reported_[group], steps);
      begin = next;
    }
  }
  file_ = files_->open(path_, true);
}

void TrainContext::write(std::string line) {
  if (!file_) return;
  file_->append(line += '\n');
  file_->flush();
}

void TrainContext::report_metrics(const std::string& group, std::int64_t steps_completed, const Logs& metrics) {
  check(!group.empty() && group.find('/') == group.npos && steps_completed >= 0, ErrorKind::value, where,
        "report_metrics() of group \"", group, "\" after ", steps_completed,
        " steps - expected a name without \"/\", such as \"validation\", and 0 or more steps - change them.");
  if (!file_) return;
  const auto before = reported_.find(group);
  if (continues_ && before != reported_.end() && steps_completed <= before->second) return;
  Json values = Json::object();
  for (const auto& [name, value] : metrics.values()) {
    if (std::isfinite(value))
      values[name] = value;
    else
      values[name] = nullptr;
  }
  write(json_text({{"group", group},
                   {"steps_completed", steps_completed},
                   {"metrics", std::move(values)},
                   {"time", static_cast<double>(wall_milliseconds()) / 1000}}));
  if (!tensorboard_) return;
  std::unique_ptr<EventFile>& events = events_[group];
  if (!events)
    events = event_file_maker(
        [this](const std::string& path, bool append) {
          files_->make_folders(parent_of(path));
          return files_->open(path, append);
        },
        storage_ + "/tensorboard/" + group);
  for (const auto& [name, value] : metrics.values()) events->add_scalar(name, value, steps_completed);
  events->flush();
}

void TrainContext::close() {
  events_.clear();
  file_.reset();
  lock_.reset();
}

void TrainContext::report_progress(double progress) {
  check(progress >= 0 && progress <= 1, ErrorKind::value, where, "report_progress(", progress,
        ") - expected a number from 0 to 1 - divide by the length of the trial.");
  write(json_text({{"progress", progress}}));
}

void TrainContext::set_status(const std::string& status) { write(json_text({{"status", status}})); }

void TrainContext::report_invalid_hp(const std::string& message) {
  write(json_text({{"status", "invalid_hp"}, {"message", message}}));
}

}  // namespace etude::experiment
