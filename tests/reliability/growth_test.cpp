#include <catch2/catch_test_macros.hpp>
#include <ctime>

#include "allocation_counter.hpp"
#include "checkpoint_samples.hpp"
#include "etude/base/detail/number.hpp"
#include "etude/saving/detail/checkpoint_format.hpp"
#include "fuzz/containers.hpp"
#include "safetensors_samples.hpp"
#include "training_samples.hpp"

// The costs of readers, configs and graphs at n, 2n and 4n. The quick form counts allocated bytes; the long form
// measures CPU time.
namespace etude {
namespace {

using namespace samples;
using namespace testing;

std::string repeated(std::string_view line, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

/// The elements of a CSV text in pieces, until its end or an error.
void read_pieces(const std::string& text) {
  try {
    CsvReader reader(CsvOptions{});
    for (std::size_t at = 0; at < text.size(); at += 1024) {
      reader.add(bytes_of(std::string_view(text).substr(at, 1024)));
      while (reader.next()) continue;
    }
    reader.finish();
    while (reader.next()) continue;
  } catch (const Error&) {
  }
}

std::string sequential_config(int layers) {
  std::string text = R"({"class_name":"Sequential","config":{"layers":[)";
  for (int i = 0; i < layers; ++i) {
    if (i) text += ',';
    text += R"({"class_name":"Dense","config":{"units":1,"name":"d)" + std::to_string(i) + "\"}}";
  }
  return text + "]}}";
}

std::unique_ptr<Functional> chain(int calls) {
  const SymbolicTensor in = layers::input({.shape = {1}});
  SymbolicTensor last = in;
  for (int i = 0; i < calls; ++i) last = layers::rescaling({.scale = 1})->apply(last);
  return std::make_unique<Functional>(std::vector{in}, std::vector{last});
}

std::string tensors_file(int count) {
  std::vector<NamedTensor> tensors;
  for (int i = 0; i < count; ++i) tensors.push_back({"tensor_" + std::to_string(i), Tensor({1})});
  return safetensors_file(tensors);
}

std::string manifest(int count) {
  Checkpoint checkpoint{.step = 1, .tensors = {}};
  for (int i = 0; i < count; ++i) checkpoint.documents.push_back({"d" + std::to_string(i), "{}"});
  return compose_checkpoint(checkpoint, 1).back().head;
}

std::string npy(int values) {
  const std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (" + std::to_string(values) + ",), }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  return (file += '\0') + header + std::string(static_cast<std::size_t>(values) * 8, '\0');
}

/// Bytes, [values].
std::string idx(int values) {
  std::string file("\0\0\x08\x01", 4);
  for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(values >> shift);
  return file + std::string(static_cast<std::size_t>(values), '\1');
}

/// A task on an input of size n, which was created before.
struct Work {
  const char* name;
  int n;
  std::function<std::function<void()>(int)> prepare;
  int most = n * 1024;
};

const std::vector<Work> works{
    {"CSV lines", 2000, [](int n) { return [text = "x,y\n" + repeated("1.5,-2\n", n)] { read_pieces(text); }; }},
    {"CSV with a stray quote", 2000,
     [](int n) { return [text = "x,y\n1,\"2\n" + repeated("1.5,-2\n", n)] { read_pieces(text); }; }},
    {"CSV in one line", 2000, [](int n) { return [text = repeated("1,", n)] { read_pieces(text); }; }},
    {"CSV with quotes within a field", 2000,
     [](int n) {
       return [text = "x,y\n" + repeated(" ", n) + 'a' + repeated("\"", n) + ",1\n"] { read_pieces(text); };
     }},
    {"CSV with leading spaces", 2000,
     [](int n) {
       return [text = "x,y\n" + repeated(" ", n) + "1,\"" + repeated(" ", n) + "\" \"2\"\n"] { read_pieces(text); };
     }},
    {"members of gzip data", 200,
     [](int n) {
       return [file = repeated(stored_gzip(std::string(100, 'a')), n)] {
         try {
           gunzip(bytes_of(file));
         } catch (const Error&) {
           // Builds without zlib.
         }
       };
     }},
    {"bytes of IDX data", 5000, [](int n) { return [file = idx(n)] { parse_idx(bytes_of(file)); }; }},
    {"digits of a number", 2000,
     [](int n) {
       return [text = "0." + repeated("1", n) + "e-" + repeated("0", n) + "1"] { CHECK(parse_double(text)); };
     }},
    {"layers of a config", 200, [](int n) { return [text = sequential_config(n)] { model_from_json(text); }; }},
    {"layers that are written", 200,
     [](int n) { return [model = model_from_json(sequential_config(n))] { to_json<Layer>(*model); }; }},
    {"calls of a description", 200, [](int n) { return [n] { chain(n); }; }},
    {"calls of a config", 100, [](int n) { return [text = to_json<Layer>(*chain(n))] { model_from_json(text); }; }},
    {"tensors of a file", 500,
     [](int n) { return [file = tensors_file(n)] { parse_safetensors(bytes_of(file), "a"); }; }},
    {"files of a manifest", 200, [](int n) { return [text = manifest(n)] { parse_manifest(text, "m"); }; }},
    {"numbers of an array", 5000, [](int n) { return [file = npy(n)] { parse_npy(bytes_of(file)); }; }},
    {"layers of a step", 8,
     [](int n) {
       return [n] {
         Sequential model(std::vector<LayerPtr>{});
         for (int i = 0; i < n; ++i) model.add(layers::dense({.units = 2, .activation = "tanh"}));
         model.compile({.loss = "mse"});
         model.train_on_batch(Tensor({2, 2}), Tensor({2, 2}));
       };
     }},
    {"stages of a dataset", 50,
     [](int n) {
       return [n] {
         Dataset data = Dataset::range(200);
         for (int i = 0; i < n; ++i) data = data.map([](Batch element) { return element; });
         for (const Batch& element : data) static_cast<void>(element);
       };
     },
     800},
    {"lines of a summary", 50, [](int n) {
       return [model = std::shared_ptr<Model>(chain(n))] { model->summary({.print_fn = [](std::string_view) {}}); };
     }}};

double bytes_of_work(const std::function<void()>& work) {
  work();  // objects that exist once are kept
  const std::size_t before = allocated_bytes();
  work();
  return static_cast<double>(allocated_bytes() - before);
}

/// The least of three.
double seconds_of_work(const std::function<void()>& work) {
  double least = 1e9;
  for (int i = 0; i < 3; ++i) {
    const std::clock_t begin = std::clock();
    work();
    least = std::min(least, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return least;
}

}  // namespace

TEST_CASE("reliability: every reader and graph needs about four times the memory for four times the input",
          "[reliability][growth]") {
  for (const Work& work : works) {
    const double once = bytes_of_work(work.prepare(work.n)), twice = bytes_of_work(work.prepare(2 * work.n)),
                 four = bytes_of_work(work.prepare(4 * work.n));
    INFO(work.name << " at n = " << work.n << ": " << once << ", " << twice << ", " << four << " bytes");
    CHECK(twice < 3 * once + 4096);  // where memory doubles, the last n elements may cause one more doubling
    CHECK(four < 6 * once + 4096);   // n² would be 16
  }
}

TEST_CASE("reliability: four times the input takes less than ten times the processor's time", "[reliability][growth]") {
  if (rounds(0, 1) == 0) SKIP("only in the long form");
  for (const Work& work : works) {
    int n = work.n;
    while (seconds_of_work(work.prepare(n)) < 0.02 && n * 4 < work.most) n *= 2;
    const double once = seconds_of_work(work.prepare(n)), four = seconds_of_work(work.prepare(4 * n));
    INFO(work.name << " at n = " << n << ": " << once << " and " << four << " s");
    CHECK(four < 10 * once + 0.01);
  }
}

}  // namespace etude
