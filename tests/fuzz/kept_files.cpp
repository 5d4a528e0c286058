// Files that a run reads again after an earlier run wrote them: a log that it continues, the state of a search,
// compiled programs, chosen algorithms.
#include <stdexcept>

#include "etude/callbacks/csv_logger.hpp"
#include "etude/experiment/search/search.hpp"
#include "files_in_memory.hpp"
#include "fuzz/readers.hpp"
#include "safetensors_samples.hpp"

#ifndef __EMSCRIPTEN__
#include "cuda/choices.hpp"
#include "cuda/program_cache.hpp"
#endif

namespace etude::testing {
namespace {

constexpr const char* log_path = "log.csv";

/// Throws an exception that no caller of a target treats as a rejection.
void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

/// The two bytes of options for read_csv_log, then the log.
std::string csv_log(int epoch, bool semicolons, std::size_t own_bytes, std::string_view text) {
  std::string input{static_cast<char>(epoch | (semicolons ? 128 : 0)), static_cast<char>(own_bytes)};
  return input.append(text);
}

/// The output of a CSVLogger after `epochs` epochs.
std::string written_log(int epochs, const std::string& separator) {
  const FilesInMemory scope;
  const auto logger = callbacks::csv_logger({.filename = log_path, .separator = separator, .append = true});
  Logs logs{{"loss", 0.125}};
  logger->on_train_begin(logs);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    logger->on_epoch_begin(epoch, logs);
    logger->on_epoch_end(epoch, logs);
  }
  logger->on_train_end(logs);
  return text_in(*scope.files, log_path);
}

}  // namespace

/// Continues a log; the lines after its own bytes may be those of repeated epochs.
void read_csv_log(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto choice = static_cast<unsigned char>(bytes[0]);
  const std::size_t size = static_cast<unsigned char>(bytes[1]);
  const int epoch = choice & 127;
  const std::string text(bytes.substr(2)), own = text.substr(0, size), separator = choice & 128 ? ";" : ",";
  const FilesInMemory scope;
  scope.files->open(log_path, false)->append(text);

  const auto logger = callbacks::csv_logger({.filename = log_path, .separator = separator, .append = true});
  Logs logs{{"loss", 0.5}};
  CallbackState state(logger->state().kind());
  state.set("size", static_cast<double>(size));
  state.set_text("keys/0", "loss");
  logger->on_train_begin(logs);
  logger->restore(state);
  logger->on_epoch_begin(epoch, logs);
  const std::string header = "epoch" + separator + "loss\r\n", after = text_in(*scope.files, log_path);
  const bool has_more = text.size() > size, is_kept = after == (text.empty() ? header : text);
  require(is_kept || (has_more && after == (own.empty() ? header : own)),
          "CSVLogger cut its log elsewhere than behind its own lines");
  logger->on_epoch_end(epoch, logs);
  logger->on_train_end(logs);
  require(text_in(*scope.files, log_path) == after + std::to_string(epoch) + separator + "0.5\r\n",
          "CSVLogger wrote another line than that of its epoch");
  if (has_more && is_kept) fail(ErrorKind::data, log_path, "other lines - expected those of the next epochs.");
}

FuzzInputs csv_log_inputs() {
  const std::string commas = written_log(4, ","), semicolons = written_log(12, ";");
  const std::size_t header = commas.find('\n') + 1, first = commas.find('\n', header) + 1;
  return {csv_log(0, false, 0, commas),
          csv_log(0, false, header, commas),
          csv_log(1, false, first, commas),
          csv_log(0, true, 0, semicolons),
          csv_log(1, false, first, commas.substr(0, commas.size() - 7)),
          csv_log(4, false, commas.size(), commas),
          csv_log(0, false, 0, "")};
}

namespace {

experiment::HyperparameterSearch adaptive_search() {
  return {{.name = "adaptive_asha", .metric = "loss", .max_time = 16, .max_trials = 16, .max_rungs = 3},
          {{"x", experiment::hyperparameters::real(0, 1)}},
          1};
}

}  // namespace

/// The snapshot of a search, which continues.
void read_search(std::string_view bytes) {
  experiment::HyperparameterSearch search = adaptive_search(), again = adaptive_search();
  search.restore(bytes);
  const std::string snapshot = search.snapshot();
  again.restore(snapshot);
  require(again.snapshot() == snapshot, "a search wrote another snapshot than it had read");
  if (search.trials() == 0) return;
  const bool same = search.validated(1, 0.5, 4) == again.validated(1, 0.5, 4);
  require(same && again.snapshot() == search.snapshot(), "two searches from one snapshot differ");
}

FuzzInputs search_inputs() {
  experiment::HyperparameterSearch search = adaptive_search();
  FuzzInputs inputs{search.snapshot()};
  search.start();
  inputs.push_back(search.snapshot());
  for (const int trial : {1, 2, 3}) search.validated(trial, 1.0 / trial, 4);
  search.exited(1, experiment::TrialEnd::finished);
  search.exited(2, experiment::TrialEnd::invalid);
  inputs.push_back(search.snapshot());
  return inputs;
}

#ifndef __EMSCRIPTEN__

namespace {

constexpr const char* programs = "programs";
const std::string compiled = "compiled anew";

/// Writes the cubin of a program from a cache in these files, and whether it had to be compiled, to `result`.
std::string cubin_in(const std::shared_ptr<MemoryVfs>& files, const std::string& result, bool& is_compiled) {
  cuda::ProgramCache cache(
      [&](const std::string&, int) {
        is_compiled = true;
        return std::vector<char>(result.begin(), result.end());
      },
      "1", files, programs);
  const std::vector<std::string> sources{"a program"};
  const auto cubin = cache.cubins(sources, 90).front();
  return {cubin->begin(), cubin->end()};
}

/// A cache's file for a cubin, and its path.
std::pair<std::string, std::string> program_file(const std::string& cubin) {
  const auto files = std::make_shared<MemoryVfs>();
  bool is_compiled = false;
  cubin_in(files, cubin, is_compiled);
  const std::string path = std::string(programs) + '/' + files->list(programs).front();
  return {path, text_in(*files, path)};
}

}  // namespace

/// A program's file in the folder of compiled programs.
void read_program(std::string_view bytes) {
  static const auto anew = program_file(compiled);
  const auto& [path, good_file] = anew;
  const auto files = std::make_shared<MemoryVfs>();
  files->make_folder(programs);
  files->open(path, false)->append(bytes);
  bool is_compiled = false;
  const std::string cubin = cubin_in(files, compiled, is_compiled);
  if (!is_compiled) {
    const std::string header = good_file.substr(16, good_file.size() - 16 - compiled.size());
    require(bytes == repaired_cache_file(std::string(bytes)) && bytes.substr(16) == header + cubin,
            "ProgramCache took a damaged file");
    return;
  }
  require(cubin == compiled && text_in(*files, path) == good_file, "ProgramCache did not replace a damaged file");
  fail(ErrorKind::data, path, "a damaged file - expected a program that a ProgramCache has written.");
}

FuzzInputs program_inputs() {
  std::string all_bytes;
  for (int i = 0; i < 256; ++i) all_bytes += static_cast<char>(i);
  return {program_file("").second, program_file("cubin").second, program_file(all_bytes).second};
}

namespace {

constexpr const char *choices_folder = "choices", *kind = "a product", *new_kind = "another product";

/// The file for these choices of `kinds` kinds, and its path.
std::pair<std::string, std::string> choices_file(int kinds, const std::string& choice) {
  const auto files = std::make_shared<MemoryVfs>();
  cuda::Choices choices("GPU", files, choices_folder);
  choices.keep(kind, choice, true);
  for (int i = 1; i < kinds; ++i) choices.keep("product " + std::to_string(i), choice, true);
  const std::string path = std::string(choices_folder) + '/' + files->list(choices_folder).front();
  return {path, text_in(*files, path)};
}

}  // namespace

/// A file of chosen algorithms.
void read_choices(std::string_view bytes) {
  static const std::string path = choices_file(1, "").first;
  const auto files = std::make_shared<MemoryVfs>();
  files->make_folder(choices_folder);
  files->open(path, false)->append(bytes);
  cuda::Choices choices("GPU", files, choices_folder), later("GPU", files, choices_folder);
  const auto known = choices.find(kind);
  const std::string chosen = choices.keep(new_kind, "one", true), after = text_in(*files, path);
  require(!known || bytes == repaired_cache_file(std::string(bytes)), "Choices took a damaged file");
  require(later.find(new_kind) == chosen, "Choices did not keep a choice");
  require(bytes.size() > cuda::Choices::most || later.find(kind) == known, "Choices lost what was in its file");
  require(after == repaired_cache_file(after), "Choices wrote a damaged file");
  if (!known) fail(ErrorKind::data, path, "no choice - expected a file that a Choices has written.");
}

FuzzInputs choices_inputs() {
  return {choices_file(1, "").second, choices_file(2, "ours").second, choices_file(5, std::string(128, 'a')).second};
}

#endif

}  // namespace etude::testing
