#include "etude/base/logs.hpp"

#include "etude/base/error.hpp"

namespace etude {

Logs::Logs(std::initializer_list<std::pair<std::string, double>> values) {
  for (const auto& [name, value] : values) set(name, value);
}

Logs::Entry* Logs::find(std::string_view name) const {
  for (Entry& entry : entries_)
    if (entry.name == name) return &entry;
  return nullptr;
}

double Logs::operator[](std::string_view name) const {
  if (Entry* entry = find(name)) return read(*entry);
  std::string known;
  for (const Entry& entry : entries_) known += (known.empty() ? "" : ", ") + entry.name;
  fail(ErrorKind::value, "Logs", '"', name, "\" - expected one of: ", known.empty() ? "(no logs)" : known,
       " - check the metric's name.");
}

double Logs::read(Entry& entry) const {
  if (!entry.known) {
    check(current(), ErrorKind::state, "Logs", '"', entry.name,
          "\" read after its step - logs are valid during their hook, and keep only values that were read there - "
          "read the value inside the callback.");
    entry.value = source_->read(entry.index);
    entry.known = true;
  }
  return entry.value;
}

void Logs::set(std::string_view name, double value) {
  if (Entry* entry = find(name)) {
    entry->value = value;
    entry->known = true;
  } else {
    entries_.push_back({std::string(name), value, true, 0});
  }
}

std::vector<std::pair<std::string, double>> Logs::values() const {
  std::vector<std::pair<std::string, double>> result;
  for (Entry& entry : entries_) result.emplace_back(entry.name, read(entry));
  return result;
}

void Logs::attach(std::shared_ptr<LogSource> source, const std::vector<std::string>& names) {
  source_ = std::move(source);
  entries_.clear();
  for (std::size_t i = 0; i < names.size(); ++i) entries_.push_back({names[i], 0, false, i});
  generation_ = source_->generation();
}

void Logs::attach_outputs(std::shared_ptr<LogSource> source) {
  attach(std::move(source), {});
  has_outputs_ = true;
}

std::vector<Tensor> Logs::outputs() const {
  check(has_outputs_, ErrorKind::value, "Logs",
        "outputs of a hook that has none - expected on_predict_batch_end - read them there.");
  check(current(), ErrorKind::state, "Logs",
        "outputs read after their hook - logs are valid during their hook - read them inside the callback.");
  return source_->outputs();
}

void Logs::renew() {
  for (Entry& entry : entries_) entry.known = false;
  if (source_) generation_ = source_->generation();
}

}  // namespace etude
