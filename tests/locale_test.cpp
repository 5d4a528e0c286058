#include <catch2/catch_test_macros.hpp>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "etude/base/detail/number.hpp"
#include "etude/callbacks/detail/output.hpp"
#include "etude/data/csv.hpp"
#include "etude/saving/config.hpp"
#include "scratch_folder.hpp"
#include "training_samples.hpp"

// The host program chooses the process's locale: reading and writing do not depend on it.
namespace etude {
namespace {

using namespace samples;

/// During its lifetime, the process has a locale with decimal commas, if the system has one or can create one.
class CommaLocale {
 public:
  CommaLocale() { found_ = set("de_DE.UTF-8") || set("de_DE.utf8") || set("fr_FR.UTF-8") || make(); }
  ~CommaLocale() { std::setlocale(LC_ALL, before_.c_str()); }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;
  explicit operator bool() const { return found_; }

 private:
  static bool set(const char* name) {
    if (!std::setlocale(LC_ALL, name)) return false;
    char text[16];
    std::snprintf(text, sizeof text, "%.1f", 0.5);
    return std::string(text) == "0,5";
  }

  /// Creates it from the sources of locales in Debian's package "locales".
  bool make() {
#if defined(__linux__) && !defined(__EMSCRIPTEN__)
    static const testing::ScratchFolder folder("etude_locale_test");  // it takes some seconds
    static const std::string command = "localedef -i de_DE -f UTF-8 " + folder.path() + "/de_DE.UTF-8 >/dev/null 2>&1";
    static const int result = std::system(command.c_str());
    if (result != 0) return false;
    ::setenv("LOCPATH", folder.path().c_str(), 1);
    const bool made = set("de_DE.UTF-8");
    ::unsetenv("LOCPATH");
    return made;
#else
    return false;
#endif
  }

  std::string before_ = std::setlocale(LC_ALL, nullptr);
  bool found_ = false;
};

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("numbers are read and written with a decimal point in a locale with a comma", "[locale]") {
  const CommaLocale locale;
  if (!locale) SKIP("no locale whose numbers have commas: install the package locales");
  CHECK(formatted("%.4f", 1.5) == "1.5000");
  CHECK(formatted("%.3e", -1234.5) == "-1.234e+03");
  CHECK(formatted("%g s", 0.25) == "0.25 s");
  CHECK(formatted("%8.2f", 0.25) == "    0.25");
  CHECK(shortest(0.1) == "0.1");
  CHECK(json_number(0.5) == "0.5");
  CHECK(parse_double("1.5") == 1.5);
  CHECK(!parse_double("1,5"));
  std::string text;
  append_text(text, 0.5);
  CHECK(text == "0.5");
  Sequential model({layers::dense({.units = 3, .activation = "softmax"})});
  model.compile({.loss = "sparse_categorical_crossentropy"});
  const Tensor label = Tensor::from<float>({1}, {7.5});
  CHECK(error_of([&] { model.evaluate(filled({1, 2}, 0.5), label, {.verbose = 0}); }).find("label 7.5 in row 0") !=
        std::string::npos);
}

TEST_CASE("data, logs, checkpoints and configs are the same in a locale with a comma", "[locale]") {
  const CommaLocale locale;
  if (!locale) SKIP("no locale whose numbers have commas: install the package locales");
  const testing::ScratchFolder folder("etude_locale_test");
  const std::filesystem::path files = folder.path();
  std::ofstream(files / "data.csv") << "a,b\n1.5,2\n-0.25,1e-1\n";
  std::vector<double> read;
  for (const Batch& element : read_csv((files / "data.csv").string(), {.label = "b"}))
    read.insert(read.end(), {element.x[0].at(0), element.y[0].at(0)});
  CHECK(read == std::vector<double>{1.5, 2, -0.25, static_cast<double>(0.1f)});

  Sequential model({layers::dense({.units = 1, .kernel_initializer = "ones"})});
  model.compile(mse());
  const std::string weights = (files / "w-{epoch:02d}-{loss:.3f}.safetensors").string();
  model.fit(filled({4, 2}, 0.5), filled({4, 1}, 0.25),
            {.epochs = 2,
             .verbose = 0,
             .callbacks = {callbacks::csv_logger({.filename = (files / "log.csv").string()}),
                           callbacks::model_checkpoint({.filepath = weights, .save_weights_only = true})}});
  CHECK(text_of(files / "log.csv").find("\r\n0,0.5625,") != std::string::npos);  // (1 - 0.25)²
  CHECK(std::filesystem::exists(files / "w-01-0.562.safetensors"));

  std::string shown;
  ProgressBar bar(2, {.dynamic = false, .sink = [&](std::string_view line) { shown += line; }});
  bar.update(1, Logs{{"loss", 0.5}});
  bar.finish(Logs{{"loss", 0.25}});
  CHECK(shown.find("loss: 0.2500") != std::string::npos);

  const LayerPtr layer = from_json<Layer>(R"({"class_name": "Dropout", "config": {"rate": 0.25}})");
  CHECK(to_json(*layer).find("\"rate\":0.25") != std::string::npos);
}

}  // namespace etude
