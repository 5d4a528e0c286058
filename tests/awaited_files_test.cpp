#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <deque>

#include "etude/etude.hpp"
#include "files_in_memory.hpp"
#include "golden.hpp"
#include "training_samples.hpp"

// Files whose bytes come later, as those of a page do: their loads wait for them, weight by weight.
namespace etude {
namespace {

using Catch::Matchers::ContainsSubstring;
using namespace testing;
using nlohmann::json;

/// Bytes that a load waits for, and the load.
struct Arrival {
  std::string path, error;
  std::uint64_t begin, end;
  std::coroutine_handle<> resume;
  bool is_here = false;
};

class ArrivalPending : public Pending {
 public:
  explicit ArrivalPending(Arrival& arrival) : arrival_(arrival) {}
  bool ready() const override { return arrival_.is_here; }
  void on_ready(std::coroutine_handle<> resume) override { arrival_.resume = resume; }
  void rethrow() override {
    if (!arrival_.error.empty()) fail_at_path(arrival_.path, "read", arrival_.error);
  }

 private:
  Arrival& arrival_;
};

/// Files in memory whose ranges come only when `arrive` is called, and are kept until they are forgotten.
class AwaitedFiles : public MemoryVfs {
 public:
  explicit AwaitedFiles(const MemoryVfs& others) : MemoryVfs(others) {}

  std::vector<std::byte> read(const std::string& path) override {
    require(path, 0, size(path));
    return MemoryVfs::read(path);
  }
  std::unique_ptr<FileSource> source(const std::string& path) override {
    return std::make_unique<Source>(*this, path, MemoryVfs::source(path));
  }

  /// Lets the next bytes come, and resumes the load that waits for them. Whether there were any.
  bool arrive() {
    if (next_ == arrivals_.size()) return false;
    Arrival& arrival = arrivals_[next_++];
    arrival.is_here = true;
    if (next_ == fails_at) arrival.error = "the disk is gone";
    held_ += arrival.end - arrival.begin;
    most_held = std::max(most_held, held_);
    if (arrival.resume) arrival.resume.resume();  // what it threw may have been replaced by another one
    return true;
  }

  /// The most bytes that were kept at once, and how often a load waited.
  std::uint64_t most_held = 0;
  std::size_t waits() const { return arrivals_.size(); }
  /// The number of the wait that fails, from 1 on.
  std::size_t fails_at = 0;

 private:
  class Source : public FileSource {
   public:
    Source(AwaitedFiles& files, std::string path, std::unique_ptr<FileSource> bytes)
        : files_(files), path_(std::move(path)), bytes_(std::move(bytes)) {}
    std::uint64_t size() const override { return bytes_->size(); }
    void read(std::uint64_t at, std::span<std::byte> out) override {
      files_.require(path_, at, out.size());
      bytes_->read(at, out);
    }

   private:
    AwaitedFiles& files_;
    const std::string path_;
    const std::unique_ptr<FileSource> bytes_;
  };

  /// Throws unless the bytes are here.
  void require(const std::string& path, std::uint64_t at, std::uint64_t size) {
    constexpr std::uint64_t page = 4096;
    for (std::size_t i = forgotten_; i < next_; ++i)
      if (arrivals_[i].path == path && arrivals_[i].begin <= at && at + size <= arrivals_[i].end) return;
    const std::uint64_t begin = at / page * page, end = std::max(at + size, begin + page);
    Arrival& arrival = arrivals_.emplace_back(Arrival{path, {}, begin, end, {}});
    throw BytesAwaited{std::make_unique<ArrivalPending>(arrival), [this] {
                         held_ = 0;
                         forgotten_ = next_;
                       }};
  }

  std::deque<Arrival> arrivals_;
  std::size_t next_ = 0, forgotten_ = 0;
  std::uint64_t held_ = 0;
};

/// The model that is loaded from files whose bytes come later, or the error.
Task<> load(std::string path, LoadModelOptions options, ModelPtr& model) {
  model = co_await load_model_task(std::move(path), std::move(options));
}

void run(const PendingPtr& started, AwaitedFiles& files) {
  if (!started) return;
  while (!started->ready()) REQUIRE(files.arrive());
  started->rethrow();
}
ModelPtr load_later(const std::string& path, const std::shared_ptr<AwaitedFiles>& files) {
  ModelPtr model;
  run(started(load(path, {.files = files}, model)), *files);
  return model;
}
void load_weights_later(Model& model, const std::string& path, const std::shared_ptr<AwaitedFiles>& files) {
  run(started(model.load_weights_task(path, {.files = files})), *files);
}

using StringLayers = std::map<std::string, std::shared_ptr<StringLayer>>;

Task<> load_strings(std::string path, LoadStringLayersOptions options, StringLayers& layers) {
  layers = co_await load_string_layers_task(std::move(path), std::move(options));
}

bool alike(const Model& a, const Model& b) {
  const std::vector<Tensor> first = a.get_weights(), second = b.get_weights();
  return std::ranges::equal(first, second, same_bits);
}

constexpr std::int64_t units = 300;
constexpr std::uint64_t tensor = units * units * sizeof(float), pages = 4 * 4096;

/// A model of eight weights of the same size.
struct Large : Sequential {
  explicit Large(const InitializerPtr& initializer) : Sequential(dense(initializer)) { build({-1, units}); }

 private:
  static std::vector<LayerPtr> dense(const InitializerPtr& initializer) {
    std::vector<LayerPtr> layers;
    for (int i = 0; i < 8; ++i)
      layers.push_back(layers::dense({.units = units, .use_bias = false, .kernel_initializer = initializer}));
    return layers;
  }
};

}  // namespace

TEST_CASE("files whose bytes come later: a load holds at most the bytes of the largest weight, and some pages",
          "[saving]") {
  const FilesInMemory scope;
  const Large model(initializers::random_uniform({.seed = 1}));
  for (const char* path : {"m.keras", "m.weights.h5", "m.safetensors", "m.npz", "m/model.json"}) {
    INFO(path);
    const std::string name = path;
    const bool whole = name.ends_with(".keras") || name.ends_with(".json");
    // The arrays of an .npz file are listed in one step, which reads where each begins.
    const std::uint64_t most = tensor + pages + (name.ends_with(".npz") ? 9 * 65536 : 0);
    whole ? model.save(path) : model.save_weights(path);
    if (whole) {
      const auto files = std::make_shared<AwaitedFiles>(*scope.files);
      CHECK(alike(*load_later(path, files), model));
      CHECK(files->most_held <= most);
      CHECK(files->waits() > 8);
    }
    Large other(initializers::zeros());
    const auto files = std::make_shared<AwaitedFiles>(*scope.files);
    load_weights_later(other, path, files);
    CHECK(alike(other, model));
    CHECK(files->most_held <= most);
    CHECK(files->waits() > 16);
  }
}

TEST_CASE("files whose bytes come later: files of Keras give the same models as at once", "[saving][keras]") {
  const json versions = golden("keras_files.json");
  const auto system = host().files;
  for (const char* version : {"keras3", "keras2"})
    for (const json& test : versions.at(version).at("models")) {
      ModelPtr of_file;
      for (const std::string file : test.at("files")) {
        INFO(file);
        const FilesInMemory scope;
        const std::string path = file.substr(file.rfind('/') + 1);
        const std::vector<std::byte> bytes = system->read(golden_path(file));
        scope.files->open(path, false)->append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        const auto files = std::make_shared<AwaitedFiles>(*scope.files);
        if (file.find("weights") != file.npos) {
          REQUIRE(of_file);
          const ModelPtr model = clone_model(*of_file);
          load_weights_later(*model, path, files);
          CHECK(alike(*model, *of_file));
          continue;
        }
        of_file = load_model(path);
        const ModelPtr model = load_later(path, files);
        CHECK(alike(*model, *of_file));
        CHECK(files->waits() > 1);
        REQUIRE(model->compiled() == of_file->compiled());
        if (!model->compiled()) continue;
        const std::vector<Variable> state = model->optimizer().variables(), other = of_file->optimizer().variables();
        CHECK(std::ranges::equal(state, other,
                                 [](const Variable& a, const Variable& b) { return same_bits(a.value(), b.value()); }));
      }
    }
}

TEST_CASE("files whose bytes come later: layers of strings have the same vocabularies as at once", "[saving][keras]") {
  const std::vector<std::byte> bytes = read_file(golden_path("keras/texts.keras"));
  const FilesInMemory scope;
  scope.files->open("m.keras", false)->append({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const auto files = std::make_shared<AwaitedFiles>(*scope.files);
  StringLayers layers;
  run(started(load_strings("m.keras", {.files = files}, layers)), *files);
  CHECK(files->waits() > 0);
  const StringLayers expected = load_string_layers(bytes);
  REQUIRE(expected.size() == 1);
  REQUIRE(layers.size() == 1);
  const auto vocabulary = [](const StringLayers& of) {
    return dynamic_cast<const VocabularyLayer&>(*of.begin()->second).get_vocabulary();
  };
  CHECK(vocabulary(layers) == vocabulary(expected));
}

TEST_CASE("files whose bytes come later: an error of a read ends the load, and sets no weights", "[saving][errors]") {
  const FilesInMemory scope;
  const Large model(initializers::random_uniform({.seed = 1}));
  for (const char* path : {"m.weights.h5", "m.safetensors"}) {
    model.save_weights(path);
    Large other(initializers::zeros());
    const Large zeros(initializers::zeros());
    for (const std::size_t number : {1U, 2U, 5U}) {
      const auto files = std::make_shared<AwaitedFiles>(*scope.files);
      files->fails_at = number;
      CHECK_THAT(error_of([&] { load_weights_later(other, path, files); }), ContainsSubstring("the disk is gone"));
      CHECK(alike(other, zeros));
    }
  }
}

TEST_CASE("files whose bytes come later: a function that does not wait for them is an error", "[saving][errors]") {
  const FilesInMemory scope;
  Large model(initializers::zeros());
  model.save_weights("m.safetensors");
  const auto files = std::make_shared<AwaitedFiles>(*scope.files);
  CHECK_THAT(error_of([&] { model.load_weights("m.safetensors", {.files = files}); }), ContainsSubstring("[Task]"));
}

}  // namespace etude
