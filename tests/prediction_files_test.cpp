#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cerrno>

#include "etude/base/detail/system_vfs.hpp"
#include "files_in_memory.hpp"
#include "reliability/crash_vfs.hpp"
#include "scratch_folder.hpp"
#include "training_samples.hpp"

// Predictions written to NumPy files.
namespace etude {
namespace {

using namespace samples;
using namespace testing;
using Catch::Matchers::ContainsSubstring;

const Tensor x = waves({10, 3});
const PredictOptions by_four{.batch_size = 4, .verbose = 0};

}  // namespace

TEST_CASE("a prediction stream writes a .npy file, whose number of rows is known only at the end", "[predict_stream]") {
  const FilesInMemory here;
  Sequential model(two_dense(4, 2));
  model.predict_stream(batches_of(x, x, 4, 3), {.verbose = 0}).write_npy("out.npy");
  const std::vector<std::byte> bytes = here.files->read("out.npy");
  const Tensor read = parse_npy(bytes);
  const Tensor expected = model.predict(x, by_four);
  CHECK(read.shape() == expected.shape());
  CHECK(numbers(read) == numbers(expected));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  CHECK(text.substr(10).starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (10, 2), }  "));
  CHECK((bytes.size() - read.bytes()) % 64 == 0);
  CHECK(here.files->list(".") == Texts{"out.npy"});
}

TEST_CASE("a prediction stream writes its remaining rows, and each output to a separate file", "[predict_stream]") {
  const FilesInMemory here;
  Functional model = one_and_two();
  OutputsStream stream = model.predict_outputs_stream(x, by_four);
  CHECK(stream.next().has_value());
  CHECK_THAT(error_of([&] { model.predict_outputs_stream(x, by_four).write_npy({"a.npy", "a.npy"}); }),
             ContainsSubstring("\"a.npy\" for several outputs"));
  stream.write_npy({"a.npy", "b.npy"});
  const std::vector<Tensor> expected = model.predict_outputs(x.rows(4, 10), {.verbose = 0});
  CHECK(numbers(parse_npy(here.files->read("a.npy"))) == numbers(expected[0]));
  CHECK(numbers(parse_npy(here.files->read("b.npy"))) == numbers(expected[1]));
  CHECK_THAT(error_of([&] { model.predict_outputs_stream(x, by_four).write_npy({"a.npy"}); }),
             ContainsSubstring("1 paths for 2 outputs"));
  CHECK(here.files->list(".") == Texts{"a.npy", "b.npy"});
}

TEST_CASE("an incomplete .npy file leaves the previous one unchanged", "[predict_stream]") {
  const FilesInMemory here;
  Sequential model(summing_unit());
  model.predict_stream(x.rows(0, 3), {.verbose = 0}).write_npy("out.npy");
  const auto before = here.files->read("out.npy");
  CHECK_THROWS_WITH(model.predict_stream(breaking_after(2, x), {.verbose = 0}).write_npy("out.npy"),
                    "the source is dry");
  CHECK(here.files->read("out.npy") == before);
  CHECK(here.files->list(".") == Texts{"out.npy"});
}

TEST_CASE("a .npy file is written for every dtype and number of axes, or the rows are refused", "[predict_stream]") {
  const FilesInMemory here;
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::uint8, DType::boolean})
    for (const Shape& shape : {Shape{4}, Shape{4, 2}, Shape{2, 1, 2, 3}}) {
      const Tensor rows = filled(shape, 1).astype(dtype);
      NpyWriter file("some.npy");
      file.append(rows);
      file.append(rows.rows(0, 1));
      file.commit();
      const Tensor read = parse_npy(here.files->read("some.npy"));
      CHECK(read.dtype() == dtype);
      CHECK(read.shape()[0] == shape[0] + 1);
      CHECK(numbers(read.rows(0, shape[0])) == numbers(rows));
    }
  NpyWriter file("other.npy");
  CHECK_THAT(error_of([&] { file.commit(); }), ContainsSubstring("no rows"));
  CHECK_THAT(error_of([&] { file.append(filled({}, 1)); }), ContainsSubstring("a scalar"));
  file.append(filled({2, 3}, 1));
  CHECK_THAT(error_of([&] { file.append(filled({2, 4}, 1)); }), ContainsSubstring("[2, 4]"));
  CHECK_THAT(error_of([&] { file.append(filled({2, 3}, 1).astype(DType::int32)); }), ContainsSubstring("int32"));
  file.commit();
  CHECK_THAT(error_of([&] { file.append(x); }), ContainsSubstring("is already committed"));
  CHECK_THAT(error_of([&] { file.commit(); }), ContainsSubstring("is already committed"));
}

TEST_CASE("if any system call fails, a .npy file is the previous or the new one, and nothing else is left",
          "[predict_stream][reliability]") {
  if (!system_vfs()) return;
  const ScratchFolder folder("etude_predict_stream", ScratchFolder::memory);
  const std::string path = folder.path() + "/out.npy";
  const auto before = host().files;
  Sequential model(summing_unit());
  int calls = 0;
  for (int n = 1, reached = 1; reached; ++n) {
    model.predict_stream(x.rows(0, 3), {.verbose = 0}).write_npy(path);
    calls = reached = 0;
    host().files = system_vfs([&](std::string_view, std::size_t&) { return ++calls == n ? (reached = EIO) : 0; });
    const std::string told = error_of([&] { model.predict_stream(x, by_four).write_npy(path); });
    host().files = before;
    CAPTURE(n, told);
    const std::int64_t rows = read_npy(path).shape()[0];
    CHECK((rows == 10 || (rows == 3 && !told.empty())));
    CHECK(before->list(folder.path()) == Texts{"out.npy"});
  }
  CHECK(calls > 5);
}

TEST_CASE("after a loss of power at any point, a .npy file is the complete previous or new one",
          "[predict_stream][reliability]") {
  const auto disk = std::make_shared<CrashVfs>();
  const auto before = std::exchange(host().files, disk);
  Sequential model(summing_unit());
  model.predict_stream(x.rows(0, 3), {.verbose = 0}).write_npy("out.npy");
  const std::size_t begin = disk->operations();
  model.predict_stream(x, by_four).write_npy("out.npy");
  host().files = before;
  Random random(7, RandomStream::shuffle);
  for (std::size_t count = begin; count <= disk->operations(); ++count)
    for (const auto loss :
         {testing::PowerLoss::none, testing::PowerLoss::all, testing::PowerLoss::torn, testing::PowerLoss::names_only,
          testing::PowerLoss::zeros, testing::PowerLoss::bytes_only, testing::PowerLoss::some}) {
      CAPTURE(count, static_cast<int>(loss));
      const std::int64_t rows = parse_npy(disk->after(count, loss, random)->read("out.npy")).shape()[0];
      CHECK((rows == 3 || (rows == 10 && count > begin)));
      if (count == disk->operations()) CHECK(rows == 10);
    }
}

}  // namespace etude
