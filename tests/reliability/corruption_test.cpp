#include <catch2/catch_test_macros.hpp>

#include "checkpoint_samples.hpp"
#include "etude/base/memory_vfs.hpp"
#include "etude/base/random.hpp"
#include "safetensors_samples.hpp"

// Bits flip and files are truncated: each damage is detected, and the previous checkpoint is used.
namespace etude {
namespace {

using namespace testing;

/// Two checkpoints; the newer one is damaged.
struct Damaged {
  std::shared_ptr<MemoryVfs> files = std::make_shared<MemoryVfs>();
  std::string folder = "c/ckpt-00000002/";
  std::map<std::string, std::string> whole;
  std::size_t bytes = 0;

  Damaged() {
    CheckpointStore store("c", {.files = files});
    store.save(checkpoint_of(1));
    store.save(checkpoint_of(2));
    for (const std::string& name : files->list(folder)) {
      whole[name] = text_of(files->read(folder + name));
      bytes += whole[name].size();
    }
  }

  /// Whether a file of other content is detected, by its name, and step 1 loaded instead.
  bool noticed(const std::string& name, const std::string& content) {
    files->open(folder + name, false)->append(content);
    Warnings warnings;
    const auto loaded = load_newest_checkpoint("c", files, warnings.sink());
    files->open(folder + name, false)->append(whole.at(name));
    return loaded && is_checkpoint_of(*loaded, 1) && warnings.lines.size() == 1 &&
           warnings.lines[0].find(folder + name) != std::string::npos;
  }
};

}  // namespace

TEST_CASE("reliability: any flipped bit in a checkpoint is detected, and the previous one is loaded", "[reliability]") {
  Damaged damaged;
  Random random(3, RandomStream::step);
  const int flips = rounds(2000, 10'000);
  int noticed = 0;
  for (int i = 0; i < flips; ++i) {
    std::size_t place = random.below(static_cast<std::uint32_t>(damaged.bytes));
    auto file = damaged.whole.begin();
    for (; place >= file->second.size(); ++file) place -= file->second.size();
    std::string content = file->second;
    content[place] = static_cast<char>(content[place] ^ 1 << random.below(8));
    noticed += damaged.noticed(file->first, content);
  }
  CHECK(noticed == flips);
}

TEST_CASE("reliability: a truncated checkpoint is detected, and the previous one is loaded", "[reliability]") {
  Damaged damaged;
  Random random(4, RandomStream::step);
  int cuts = 0, noticed = 0;
  const auto cut = [&](const std::string& name, std::size_t size) {
    ++cuts;
    noticed += damaged.noticed(name, damaged.whole.at(name).substr(0, size));
  };
  for (const auto& [name, content] : damaged.whole) {
    // At every byte of a header, or of JSON.
    const std::size_t header = name.ends_with(".json") ? content.size() : content.find("}}") + 2;
    for (std::size_t size = 0; size < header; ++size) cut(name, size);
    for (int i = 0; i < rounds(100, 1000) && header < content.size(); ++i)
      cut(name, random.below(static_cast<std::uint32_t>(content.size())));
  }
  CHECK(noticed == cuts);
  CHECK(cuts > 1000);
}

TEST_CASE("reliability: a truncated safetensors file is an Error(data), without checksums too", "[reliability]") {
  const std::string whole = safetensors_file(tensors_of_all_kinds(), {{"key", "value"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);  // in separate memory: a sanitizer detects reads beyond it
    try {
      parse_safetensors(bytes_of(part), "a");
      FAIL("taken, with " << size << " of " << whole.size() << " bytes");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
    }
  }
}

}  // namespace etude
