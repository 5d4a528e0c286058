#include "etude/training/detail/progress_bar.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>

#include "allocation_counter.hpp"
#include "etude/base/error.hpp"

// Lines marked "Keras" were printed by keras/src/utils/progbar.py of Keras 3.11.3 with its clock replaced, all metrics
// stateful, and the same calls.

namespace etude {
namespace {

/// A bar with a fake screen and a fake clock.
struct Screen {
  std::string text;
  int drawings = 0;
  double now = 1000;

  ProgressBarOptions options(int verbose = 1, bool terminal = true) {
    ProgressBarOptions result;
    result.verbose = verbose;
    result.colour = result.dynamic = terminal;
    result.sink = [this](std::string_view part) {
      text = part;
      ++drawings;
    };
    result.clock = [this] { return now; };
    return result;
  }
};

std::string erase(int columns) { return std::string(static_cast<std::size_t>(columns), '\b') + "\r"; }

std::string blocks(int count) {
  std::string result;
  while (count-- > 0) result += "━";
  return result;
}

/// The coloured bar with `done` of 20 blocks.
std::string bar(int done) {
  return (done ? "\x1b[32m" + blocks(done) + "\x1b[0m" : "") + "\x1b[37m" + blocks(20 - done) + "\x1b[0m";
}

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

Logs logs(double loss, double accuracy) { return {{"loss", loss}, {"accuracy", accuracy}}; }

/// Counts its reads.
struct CountingSource : LogSource {
  int reads = 0;
  std::uint64_t generation() const override { return 1; }
  double read(std::size_t) override {
    ++reads;
    return 0.5;
  }
};

}  // namespace

TEST_CASE("progress bar: all lines of an epoch match Keras's (Keras)", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(469, screen.options());
  screen.now = 1000.5;
  progress.update(1, logs(2.3, 0.1));
  CHECK(screen.text ==
        "\r" + bold("  1/469") + " " + bar(0) + " " + bold("3:54") + " 500ms/step - loss: 2.3000 - accuracy: 0.1000");
  screen.now = 1000.52;
  progress.update(2, logs(2.2, 0.1));
  CHECK(screen.drawings == 1);
  screen.now = 1000.6;
  progress.update(35, logs(0.6931, 0.5));
  // Four blanks overwrite the end of the longer previous line.
  CHECK(screen.text == erase(78) + bold(" 35/469") + " " + bar(1) + " " + bold("1s") +
                           " 3ms/step - loss: 0.6931 - accuracy: 0.5000    ");
  screen.now = 1002.4;
  progress.update(469, logs(0.2554, 0.9261));
  screen.now = 1002.4;
  progress.finish({{"loss", 0.2554}, {"accuracy", 0.9261}, {"val_loss", 0.1315}});
  CHECK(screen.text == erase(74) + bold("469/469") + " " + bar(20) + " " + bold("2s") +
                           " 4ms/step - loss: 0.2554 - accuracy: 0.9261 - val_loss: 0.1315\n");
}

TEST_CASE("progress bar: verbose 2 writes one line per epoch, negative values in scientific form (Keras)",
          "[progress_bar]") {
  Screen screen;
  ProgressBar progress(469, screen.options(2));
  screen.now = 1000.5;
  progress.update(1, logs(2.3, 0.1));
  CHECK(screen.drawings == 0);
  screen.now = 1002.4;
  progress.update(469, logs(0.2554, 0.9));
  progress.finish({{"loss", 0.2554}, {"accuracy", -0.9261}, {"val_loss", 0.0005}});
  CHECK(screen.text == "469/469 - 2s - 4ms/step - loss: 0.2554 - accuracy: -9.2610e-01 - val_loss: 5.0000e-04\n");
  CHECK(screen.drawings == 1);
}

TEST_CASE("progress bar: verbose 0 writes nothing and reads nothing", "[progress_bar]") {
  Screen screen;
  auto source = std::make_shared<CountingSource>();
  Logs values;
  values.attach(source, {"loss"});
  ProgressBar progress(2, screen.options(0));
  progress.update(1, values);
  progress.update(2, values);
  progress.finish(values);
  CHECK(screen.drawings == 0);
  CHECK(source->reads == 0);
}

TEST_CASE("progress bar: an unknown target shows the count, and is set at the end (Keras)", "[progress_bar]") {
  Screen screen;
  ProgressBar progress({}, screen.options());
  screen.now = 1000.5;
  progress.update(1, {{"loss", 2.3}});
  CHECK(screen.text == "\r      1/Unknown " + bold("0s") + " 500ms/step - loss: 2.3000");
  screen.now = 1001.5;
  progress.update(2, {{"loss", 0.0005}});
  CHECK(screen.text == erase(44) + "      2/Unknown " + bold("2s") + " 1s/step - loss: 5.0000e-04");
  screen.now = 1002.6;
  progress.update(3, {{"loss", -0.25}});
  screen.text.clear();
  progress.finish({{"loss", -0.25}});
  CHECK(screen.text.ends_with(bold("3/3") + " " + bar(20) + " " + bold("3s") + " 1s/step - loss: -0.2500\n"));
  CHECK(progress.target() == 3);
}

TEST_CASE("progress bar: the remaining time has the format s, m:ss, h:mm:ss (Keras)", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(1000, screen.options());
  screen.now = 1010;
  progress.update(1, {});
  CHECK(screen.text.ends_with(bold("2:46:30") + " 10s/step"));
  screen.now = 1011;
  progress.update(2, {});
  CHECK(screen.text.ends_with(bold("16:38") + " 1s/step   "));
  screen.now = 1050;
  progress.update(3, {});
  CHECK(screen.text.ends_with(bold("5:32:20") + " 20s/step"));
  screen.now = 1051;
  progress.update(999, {});
  CHECK(screen.text.find(bold("0s") + " 41ms/step") != std::string::npos);
}

TEST_CASE("progress bar: the time per step excludes the first, unless it is the only one (Keras)", "[progress_bar]") {
  Screen screen;
  SECTION("one execution of three steps") {
    ProgressBar progress(3, screen.options());
    screen.now = 1002;
    progress.update(3, {{"loss", 0.5}});
    progress.finish({{"loss", 0.5}});
    CHECK(screen.text.ends_with(" 667ms/step - loss: 0.5000\n"));
  }
  SECTION("microseconds") {
    ProgressBar progress(5, screen.options());
    screen.now = 1000.001;
    progress.update(1, {});
    CHECK(screen.text.ends_with(" 1000us/step"));
    screen.now = 1000.0014;
    progress.update(5, {});
    progress.finish({});
    CHECK(screen.text.ends_with(bold("0s") + " 100us/step \n"));
  }
}

TEST_CASE("progress bar: values that are not finite are written as inf and nan (Keras)", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(2, screen.options());
  screen.now = 1001;
  progress.update(2, {});
  const double infinity = std::numeric_limits<double>::infinity();
  progress.finish({{"a", -std::numeric_limits<double>::quiet_NaN()}, {"b", infinity}, {"c", -infinity}});
  CHECK(screen.text.ends_with(" 500ms/step - a: nan - b: inf - c: -inf\n"));
}

TEST_CASE("progress bar: the largest number fits", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(1, screen.options());
  progress.finish({{"loss", -std::numeric_limits<double>::max()}});
  CHECK(screen.text.find("- loss: -17976931348623157") != std::string::npos);
  CHECK(screen.text.ends_with(".0000\n"));
}

TEST_CASE("progress bar: width and unit are options (Keras)", "[progress_bar]") {
  Screen screen;
  ProgressBarOptions options = screen.options(1, false);
  options.width = 5;
  options.unit_name = "sample";
  ProgressBar progress(2, options);
  screen.now = 1001;
  progress.update(2, {{"loss", 3.0}});
  progress.finish({{"loss", 3.0}});
  CHECK(screen.text == "2/2 ━━━━━ 1s 500ms/sample - loss: 3.0000\n");
}

TEST_CASE("progress bar: without a terminal only finished lines are written, without escapes", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(10, screen.options(1, false));
  for (int step = 1; step <= 10; ++step) {
    screen.now += 1;
    progress.update(step, logs(0.5, 0.5));
  }
  CHECK(screen.drawings == 0);
  progress.finish(logs(0.5, 0.5));
  CHECK(screen.text == "10/10 " + blocks(20) + " 10s 1s/step - loss: 0.5000 - accuracy: 0.5000\n");
}

TEST_CASE("progress bar: logs keep the order of their first occurrence", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(2, screen.options(1, false));
  progress.finish({{"zeta", 1.0}, {"alpha", 2.0}});
  CHECK(screen.text.ends_with(" - zeta: 1.0000 - alpha: 2.0000\n"));
}

TEST_CASE("progress bar: draws at most every 0.05 s, and always at the end", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(1000, screen.options());
  for (int step = 1; step <= 1000; ++step) {
    screen.now = 1000 + step / 1024.0;
    progress.update(step, logs(0.5, 0.5));
  }
  CHECK(screen.drawings == 20);  // steps 1, 53, 105, …, 989
  CHECK_FALSE(progress.should_redraw(screen.now));
  CHECK(progress.should_redraw(screen.now + 0.05));
  progress.finish(logs(0.5, 0.5));
  CHECK(screen.drawings == 21);
  CHECK(screen.text.find("1000/1000") != std::string::npos);
}

TEST_CASE("progress bar: logs are read from the device only when they are drawn", "[progress_bar]") {
  Screen screen;
  auto source = std::make_shared<CountingSource>();
  Logs values;
  values.attach(source, {"loss", "accuracy"});
  ProgressBar progress(1000, screen.options());
  for (int step = 1; step <= 1000; ++step) {
    screen.now = 1000 + step / 1024.0;
    values.renew();
    progress.update(step, values);
  }
  CHECK(source->reads == 2 * screen.drawings);
}

TEST_CASE("progress bar: no update allocates once the line has its length", "[progress_bar]") {
  Screen screen;
  screen.text.reserve(1000);
  ProgressBar progress(100000, screen.options());
  const Logs values = logs(0.5, 0.5);
  progress.update(1, values);
  screen.now += 1;
  progress.update(2, values);
  const std::size_t before = allocations();
  for (int step = 3; step < 1000; ++step) {
    screen.now += 0.02;
    progress.update(step, values);
  }
  CHECK(allocations() == before);
}

TEST_CASE("progress bar: reset starts a new epoch", "[progress_bar]") {
  Screen screen;
  ProgressBar progress({}, screen.options());
  screen.now = 1010;
  progress.update(1, logs(1, 1));
  progress.finish(logs(1, 1));
  progress.reset(4);
  screen.now = 1011;
  progress.update(1, {{"loss", 0.5}});
  CHECK(screen.text == "\r" + bold("1/4") + " " + bar(5) + " " + bold("3s") + " 1s/step - loss: 0.5000");
}

TEST_CASE("progress bar: training that stopped early shows the steps that ran", "[progress_bar]") {
  Screen screen;
  ProgressBar progress(100, screen.options(2));
  screen.now = 1002;
  progress.update(50, {});
  progress.finish({});
  CHECK(screen.text == " 50/100 - 2s - 40ms/step\n");
}

TEST_CASE("progress bar: an epoch without steps does not divide by zero", "[progress_bar]") {
  Screen screen;
  ProgressBar progress({}, screen.options(1, false));
  progress.finish({});
  CHECK(screen.text == "0/0 " + blocks(20) + " 0s 0s/step\n");
}

TEST_CASE("progress bar: an invalid verbose or width is an error", "[progress_bar]") {
  Screen screen;
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(ProgressBar(1, screen.options(3)),
                    ContainsSubstring("[ProgressBar] verbose 3 - expected 0 (silent)"));
  ProgressBarOptions options = screen.options();
  options.width = 0;
  CHECK_THROWS_WITH(ProgressBar(1, options), ContainsSubstring("width 0"));
}

TEST_CASE("progress bar: stateless values are averaged, weighted by steps, at every update", "[progress_bar]") {
  Screen screen;
  ProgressBarOptions options = screen.options(1, false);
  options.stateless_metrics = {"loss"};
  ProgressBar progress(4, options);
  progress.update(1, logs(1, 0.1));
  progress.update(4, logs(3, 0.2));
  progress.finish(logs(2.5, 0.3));
  CHECK_THAT(screen.text, Catch::Matchers::EndsWith(" - loss: 2.5000 - accuracy: 0.3000\n"));
  CHECK(screen.drawings == 1);
}

}  // namespace etude
