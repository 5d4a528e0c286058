#include "cuda/choices.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace etude::cuda {
namespace {

/// The most files: one for each model of a GPU and each set of versions.
constexpr std::size_t most_files = 64;

using Rows = std::vector<std::pair<std::string, std::string>>;

/// A body has a row for each choice: the kind, a tab, the choice, a newline. Empty if it is none.
Rows rows_in(std::string_view body) {
  Rows rows;
  while (!body.empty()) {
    const std::size_t end = body.find('\n'), tab = body.substr(0, end).find('\t');
    if (end == body.npos || tab == body.npos) return {};
    rows.emplace_back(body.substr(0, tab), body.substr(tab + 1, end - tab - 1));
    body.remove_prefix(end + 1);
  }
  return rows;
}

std::string body_of(const Rows& rows) {
  std::string body;
  for (std::size_t i = rows.size() - std::min(rows.size(), Choices::most); i < rows.size(); ++i)
    body += rows[i].first + '\t' + rows[i].second + '\n';
  return body;
}

}  // namespace

Choices::Choices(std::string measured_with, std::shared_ptr<Vfs> files, std::string folder)
    : measured_with_(std::move(measured_with)), folder_(std::move(files), std::move(folder), ".choices", most_files) {}

void Choices::load() {
  if (std::exchange(loaded_, true)) return;
  for (auto& [kind, choice] : rows_in(folder_.read(measured_with_).value_or("")))
    known_.try_emplace(std::move(kind), std::move(choice));
}

std::optional<std::string> Choices::find(const std::string& kind) {
  const std::lock_guard lock(mutex_);
  load();
  const auto found = known_.find(kind);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

std::string Choices::keep(const std::string& kind, const std::string& choice, bool measured, std::string_view refused) {
  const std::lock_guard lock(mutex_);
  load();
  const auto [known, is_new] = known_.try_emplace(kind, choice);
  if (!is_new && known->second != refused) return known->second;
  known->second = choice;
  if (measured && kind.size() + choice.size() <= longest) {
    measured_[kind] = choice;
    write();
  }
  return choice;
}

/// Writes the rows of the file without those of this process, then all of this process.
void Choices::write() {
  Rows rows = rows_in(folder_.read(measured_with_).value_or(""));
  std::erase_if(rows, [&](const auto& row) { return measured_.contains(row.first); });
  rows.insert(rows.end(), measured_.begin(), measured_.end());
  folder_.write(measured_with_, body_of(rows));
}

}  // namespace etude::cuda
