#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "checkpoint_samples.hpp"
#include "etude/base/detail/crc32c.hpp"
#include "etude/base/memory_vfs.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "safetensors_samples.hpp"

namespace etude {
namespace {

using namespace testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using Names = std::vector<std::string>;

void write(Vfs& files, const std::string& path, std::string_view text) { files.open(path, false)->append(text); }

/// Only the checkpoints of a folder.
Names checkpoints_in(Vfs& files, const std::string& folder) {
  Names names;
  for (const std::string& name : files.list(folder))
    if (name.starts_with("ckpt-")) names.push_back(name);
  return names;
}

/// A manifest with a change, and with the correct checksum for it.
void change_manifest(Vfs& files, const std::string& folder,
                     const std::function<void(nlohmann::ordered_json&)>& change) {
  const std::string path = folder + "/manifest.json";
  auto manifest = nlohmann::ordered_json::parse(text_in(files, path));
  manifest.erase("crc32c");
  change(manifest);
  std::string text = manifest.dump(1);
  text.resize(text.size() - 2);
  char sum[9];
  std::snprintf(sum, sizeof sum, "%08x", crc32c(text));
  write(files, path, text + ",\n\"crc32c\":\"" + sum + "\"}\n");
}

}  // namespace

TEST_CASE("checkpoints: saved data is loaded to the bit; the newest first", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  {
    CheckpointStore store("run/checkpoints", {.files = files});
    CHECK_FALSE(store.load_newest());
    CHECK(store.save(checkpoint_of(7)) == "run/checkpoints/ckpt-00000007");
    store.save_later(checkpoint_of(1200));
    const auto loaded = store.load_newest();
    REQUIRE(loaded);
    CHECK(is_checkpoint_of(*loaded, 1200));
    CHECK(same_bits(loaded->group("optimizer")[0].tensor, Tensor::from<std::int32_t>({}, {1200})));
    CHECK(loaded->document("state") == R"({"epoch": 1200})");
    CHECK_THAT(error_of([&] { loaded->group("discriminator"); }),
               ContainsSubstring("expected discriminator.safetensors"));
    CHECK(store.list() == Names{"run/checkpoints/ckpt-00001200", "run/checkpoints/ckpt-00000007"});
  }
  CHECK(is_checkpoint_of(load_newest_checkpoint("run/checkpoints", files).value(), 1200));
  CHECK(is_checkpoint_of(load_checkpoint("run/checkpoints/ckpt-00000007", files), 7));
  CHECK(files->list("run/checkpoints") == Names{"LATEST", "LOCK", "ckpt-00000007", "ckpt-00001200"});
  CHECK(text_in(*files, "run/checkpoints/LATEST") == "ckpt-00001200\n");
  CHECK_FALSE(load_newest_checkpoint("elsewhere", files));
}

TEST_CASE("checkpoints: the manifest names every file with its size and checksums, and ends with its own", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  Checkpoint saved = checkpoint_of(3);
  saved.run_id = "run-a";
  saved.score = 0.25;
  const std::string folder = CheckpointStore("c", {.files = files}).save(saved);
  CHECK(files->list(folder) ==
        Names{"config.json", "manifest.json", "model.safetensors", "optimizer.safetensors", "state.json"});
  const std::string text = text_in(*files, folder + "/manifest.json");
  const json manifest = json::parse(text);
  CHECK(manifest["format_version"] == 1);
  CHECK(manifest["etude_version"].get<std::string>().find('.') == 1);
  CHECK(manifest["run_id"] == "run-a");
  CHECK(manifest["step"] == 3);
  CHECK(manifest["serial"] == 1);
  CHECK(manifest["score"] == 0.25);
  REQUIRE(manifest["files"].size() == 4);
  const auto hex = [](std::uint32_t sum) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", sum);
    return std::string(digits);
  };
  for (const json& file : manifest["files"]) {
    const std::string bytes = text_in(*files, folder + '/' + file["name"].get<std::string>());
    CHECK(file["size"] == bytes.size());
    CHECK(file["crc32c"] == hex(crc32c(bytes)));
  }
  const Tensor& kernel = saved.tensors[0].tensors[0].tensor;
  CHECK(manifest["files"][0]["tensors"]["dense/kernel"] == hex(crc32c(std::span(kernel.raw(), kernel.bytes()))));
  CHECK(manifest["crc32c"] == hex(crc32c(std::string_view(text).substr(0, text.rfind(",\n")))));
  const Checkpoint loaded = load_checkpoint(folder, files);
  CHECK(loaded.run_id == "run-a");
  CHECK(loaded.score == 0.25);
}

TEST_CASE("checkpoints: the store keeps the newest and the best, and always the last", "[saving]") {
  struct Row {
    int newest, best;
    bool higher;
    Names stay;
  };
  // Steps 1 … 6 with these scores; step 4 has none.
  const std::vector<std::optional<double>> scores{0.5, 0.1, 0.9, {}, 0.3, std::nan("")};
  const std::vector<Row> rows{{1, 0, false, {"6"}},
                              {2, 0, false, {"5", "6"}},
                              {0, 0, false, {"6"}},
                              {0, 1, false, {"2", "6"}},
                              {1, 1, false, {"2", "6"}},
                              {2, 1, false, {"2", "5", "6"}},
                              {1, 2, false, {"2", "5", "6"}},
                              {1, 1, true, {"3", "6"}},
                              {1, 2, true, {"1", "3", "6"}},
                              {3, 2, true, {"1", "3", "4", "5", "6"}},
                              {9, 0, false, {"1", "2", "3", "4", "5", "6"}}};
  for (const Row& row : rows) {
    const auto files = std::make_shared<MemoryVfs>();
    CheckpointStore store(
        "c", {.keep_newest = row.newest, .keep_best = row.best, .higher_is_better = row.higher, .files = files});
    for (std::size_t i = 0; i < scores.size(); ++i) {
      Checkpoint checkpoint = checkpoint_of(static_cast<std::int64_t>(i) + 1);
      checkpoint.score = scores[i];
      store.save(checkpoint);
    }
    Names stay;
    for (const std::string& name : checkpoints_in(*files, "c")) stay.push_back(name.substr(name.size() - 1));
    CHECK(stay == row.stay);
    CHECK(store.load_newest()->step == 6);
  }
  CHECK_THAT(error_of([] { CheckpointStore("c", {.keep_newest = -1, .files = std::make_shared<MemoryVfs>()}); }),
             ContainsSubstring("keep_newest = -1"));
}

TEST_CASE("checkpoints: the newest is the last one saved, also after a run returned to an earlier step", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  const CheckpointStoreOptions options{.keep_newest = 3, .files = files};
  CheckpointStore("c", options).save(checkpoint_of(200));
  CheckpointStore store("c", options);
  store.save(checkpoint_of(100));
  CHECK(store.load_newest()->step == 100);
  CHECK(store.save(checkpoint_of(200)) == "c/ckpt-00000200-1");
  CHECK(store.list() == Names{"c/ckpt-00000200-1", "c/ckpt-00000100", "c/ckpt-00000200"});
  store.save(checkpoint_of(201));
  store.save(checkpoint_of(202));
  CHECK(checkpoints_in(*files, "c") == Names{"ckpt-00000200-1", "ckpt-00000201", "ckpt-00000202"});
}

TEST_CASE("checkpoints: a damaged one is a warning that names its file, and the previous one is loaded", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  Warnings warnings;
  {
    CheckpointStore store("c", {.files = files});
    store.save(checkpoint_of(1));
    store.save(checkpoint_of(2));
  }
  const std::map<std::string, std::string> whole = [&] {
    std::map<std::string, std::string> result;
    for (const std::string& name : files->list("c/ckpt-00000002"))
      result[name] = text_in(*files, "c/ckpt-00000002/" + name);
    return result;
  }();
  const auto expect = [&](const std::string& name, const std::string& text) {
    warnings.lines.clear();
    const auto loaded = load_newest_checkpoint("c", files, warnings.sink());
    REQUIRE(loaded);
    CHECK(is_checkpoint_of(*loaded, 1));
    REQUIRE(warnings.lines.size() == 1);
    CHECK_THAT(warnings.lines[0], ContainsSubstring("\"c/ckpt-00000002/" + name + "\"") && ContainsSubstring(text));
    for (const auto& [file, bytes] : whole) write(*files, "c/ckpt-00000002/" + file, bytes);
  };
  std::string bytes = whole.at("model.safetensors");
  bytes[bytes.size() - 100] ^= 1;
  write(*files, "c/ckpt-00000002/model.safetensors", bytes);
  expect("model.safetensors", "differs from the saved contents, in the tensor \"dense/kernel\"");
  bytes = whole.at("model.safetensors");
  bytes[10] ^= 1;
  write(*files, "c/ckpt-00000002/model.safetensors", bytes);
  expect("model.safetensors", "differs from the saved contents");
  write(*files, "c/ckpt-00000002/state.json", whole.at("state.json") + " ");
  expect("state.json", " bytes - expected ");
  write(*files, "c/ckpt-00000002/manifest.json", whole.at("manifest.json").substr(1));
  expect("manifest.json", "does not end with its own CRC-32C");
  files->remove("c/ckpt-00000002/optimizer.safetensors");
  expect("optimizer.safetensors", "cannot be read");
  files->remove("c/ckpt-00000002/manifest.json");
  expect("manifest.json", "is missing");

  for (const char* folder : {"c/ckpt-00000001/", "c/ckpt-00000002/"})
    write(*files, folder + std::string("state.json"), "");
  CHECK_THAT(error_of([&] { load_newest_checkpoint("c", files, warnings.sink()); }),
             ContainsSubstring("no checkpoint in \"c\" is undamaged") && ContainsSubstring("ckpt-00000002/state.json"));
}

TEST_CASE("checkpoints: a damaged one that was skipped is not kept in place of a good one", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  Warnings warnings;
  CheckpointStore store("c", {.keep_newest = 2, .files = files, .warn = warnings.sink()});
  store.save(checkpoint_of(1));
  store.save(checkpoint_of(2));
  write(*files, "c/ckpt-00000002/model.safetensors", "damaged");
  CHECK(store.load_newest()->step == 1);
  CHECK(warnings.lines.size() == 1);
  store.save(checkpoint_of(3));
  CHECK(checkpoints_in(*files, "c") == Names{"ckpt-00000001", "ckpt-00000003"});
}

TEST_CASE("checkpoints: a reader finds the newer checkpoint if another process removes the one that it reads",
          "[saving]") {
  struct Busy : MemoryVfs {
    std::unique_ptr<FileSource> source(const std::string& path) override {
      if (path.ends_with("model.safetensors"))
        if (const auto work = std::exchange(meanwhile, {})) work();
      return MemoryVfs::source(path);
    }
    std::function<void()> meanwhile;
  };
  const auto files = std::make_shared<Busy>();
  CheckpointStore store("c", {.keep_newest = 1, .files = files});
  store.save(checkpoint_of(1));
  files->meanwhile = [&] { store.save(checkpoint_of(2)); };
  Warnings warnings;
  const auto loaded = load_newest_checkpoint("c", files, warnings.sink());
  REQUIRE(loaded);
  CHECK(is_checkpoint_of(*loaded, 2));
  CHECK(warnings.lines.empty());
}

TEST_CASE("checkpoints: a checkpoint of a newer format is refused, not skipped", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  {
    CheckpointStore store("c", {.files = files});
    store.save(checkpoint_of(1));
    store.save(checkpoint_of(2));
  }
  change_manifest(*files, "c/ckpt-00000001",
                  [](auto& manifest) { manifest = {{"format_version", 2}, {"written_quite", "otherwise"}}; });
  const std::string text = "\"c/ckpt-00000001\" has format version 2 - expected at most 1";
  CHECK_THAT(error_of([&] { load_newest_checkpoint("c", files); }), ContainsSubstring(text));
  CHECK_THAT(error_of([&] { load_checkpoint("c/ckpt-00000001", files); }), ContainsSubstring(text));
  CHECK_THAT(error_of([&] { CheckpointStore("c", {.files = files}); }), ContainsSubstring(text));
}

TEST_CASE("checkpoints: a manifest cannot refer to files outside the folder, or to files that are too large",
          "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  write(*files, "secret.json", "{}");
  CheckpointStore("c", {.files = files}).save(checkpoint_of(1));
  const std::string whole = text_in(*files, "c/ckpt-00000001/manifest.json");
  const auto refused = [&](const std::function<void(nlohmann::ordered_json&)>& change) {
    write(*files, "c/ckpt-00000001/manifest.json", whole);
    change_manifest(*files, "c/ckpt-00000001", change);
    return error_of([&] { load_checkpoint("c/ckpt-00000001", files); });
  };
  CHECK(refused([](auto&) {}) == "no error");
  for (const char* name : {"../../secret.json", "/secret.json", "a/b", "..", ".hidden", "", "a\\b", "c:d", "na\nme"})
    CHECK_THAT(refused([&](auto& manifest) { manifest["files"][0]["name"] = name; }), ContainsSubstring("a file name"));
  CHECK_THAT(refused([](auto& manifest) { manifest["files"][0]["size"] = 1'000'000'000'000; }),
             ContainsSubstring("bytes - expected 1000000000000"));
  for (const char* field : {"format_version", "etude_version", "run_id", "step", "serial", "files"}) {
    CHECK_THAT(refused([&](auto& manifest) { manifest.erase(field); }),
               ContainsSubstring(std::string("lacks ") + field));
    CHECK_THAT(refused([&](auto& manifest) { manifest[field] = -1; }),
               ContainsSubstring(std::string("lacks ") + field));
  }
  CHECK_THAT(refused([](auto& manifest) { manifest["files"][1]["crc32c"] = "E3069283"; }),
             ContainsSubstring("lacks crc32c"));
  CHECK_THAT(refused([](auto& manifest) { manifest = nlohmann::ordered_json::array({1, 2}); }),
             ContainsSubstring("is not valid JSON"));
  CHECK_THAT(refused([&](auto& manifest) {
               auto nested = nlohmann::ordered_json::array();
               for (int i = 0; i < 70; ++i) nested = nlohmann::ordered_json::array({nested});
               manifest["more"] = nested;
             }),
             ContainsSubstring("nested deeper than 64"));
}

TEST_CASE("checkpoints: invalid file names, documents that are not JSON and negative steps are refused", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  CheckpointStore store("c", {.files = files});
  store.save(checkpoint_of(1));
  const auto refused = [&](const std::function<void(Checkpoint&)>& change) {
    Checkpoint checkpoint = checkpoint_of(2);
    change(checkpoint);
    const std::string error = error_of([&] { store.save(checkpoint); });
    CHECK(files->list("c") == Names{"LATEST", "LOCK", "ckpt-00000001"});
    return error;
  };
  CHECK_THAT(refused([](Checkpoint& c) { c.tensors[0].name = "../model"; }),
             ContainsSubstring("a file named \"../model"));
  CHECK_THAT(refused([](Checkpoint& c) { c.tensors[1].name = "model"; }), ContainsSubstring("each name once"));
  CHECK_THAT(refused([](Checkpoint& c) { c.documents[0].name = "manifest"; }), ContainsSubstring("\"manifest.json\""));
  CHECK_THAT(refused([](Checkpoint& c) { c.documents[0].json = "{\"a\": NaN}"; }),
             ContainsSubstring("\"state.json\" is not valid JSON"));
  CHECK_THAT(refused([](Checkpoint& c) { c.documents[0].json = R"({"a": 1, "a": 2})"; }),
             ContainsSubstring("the key \"a\" twice"));
  CHECK_THAT(refused([](Checkpoint& c) { c.step = -1; }), ContainsSubstring("step = -1"));
}

TEST_CASE("checkpoints: only one store is open; the next save removes leftovers of a crashed program", "[saving]") {
  const auto files = std::make_shared<MemoryVfs>();
  auto store = std::make_unique<CheckpointStore>("c", CheckpointStoreOptions{.files = files});
  CHECK_THAT(error_of([&] { CheckpointStore("c", {.files = files}); }), ContainsSubstring("c/LOCK\" is locked"));
  CHECK_FALSE(load_newest_checkpoint("c", files));  // reading needs no lock
  files->make_folders("c/.tmp-ckpt-00000009");
  write(*files, "c/.tmp-ckpt-00000009/model.safetensors", "half of i");
  store->save(checkpoint_of(1));
  CHECK(files->list("c") == Names{"LATEST", "LOCK", "ckpt-00000001"});
  store.reset();
  CHECK(CheckpointStore("c", {.files = files}).list().size() == 1);
}

TEST_CASE("checkpoints: a host without files writes the composed files, the manifest last", "[saving]") {
  const auto composed = compose_checkpoint(checkpoint_of(8), 3);
  CHECK(composed.back().name == "manifest.json");
  std::map<std::string, std::string> written;
  for (const ComposedFile& file : composed)
    file.visit_pieces([&](std::string_view piece) { written[file.name] += piece; });
  const Manifest manifest = parse_manifest(written.at("manifest.json"), "m");
  CHECK(manifest.serial == 3);
  const auto loaded = parse_checkpoint(
      manifest,
      [&](const std::string& name) { return std::make_shared<MemorySource>(bytes_of(written.at(name)), nullptr); },
      "m");
  CHECK(is_checkpoint_of(loaded, 8));
}

}  // namespace etude
