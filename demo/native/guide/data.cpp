// Data: the same numbers as arrays, a Dataset, a Sequence, a generator, a NumPy file and a CSV file; and predictions
// batch by batch.
#include <etude/etude.hpp>

#include <filesystem>
#include <fstream>

#include "samples.hpp"

using namespace etude;

/// Batches by index.
class Batches : public Sequence {
 public:
  Batches(Tensor x, Tensor y) : x_(std::move(x)), y_(std::move(y)) {}
  std::int64_t size() const override { return x_.shape()[0] / 50; }
  Batch batch(std::int64_t index) override {
    return {{x_.rows(50 * index, 50 * index + 50)}, {y_.rows(50 * index, 50 * index + 50)}, {}};
  }

 private:
  Tensor x_, y_;
};

/// Batches one after another, once.
BatchGenerator generate(Tensor x, Tensor y) {
  for (std::int64_t row = 0; row < x.shape()[0]; row += 50) {
    Batch batch;
    batch.x = {x.rows(row, row + 50)};
    batch.y = {y.rows(row, row + 50)};
    co_yield batch;
  }
}

class TwoLayers : public Sequential {
 public:
  TwoLayers() : Sequential(seeded()) { compile({.optimizer = "adam", .loss = "mse"}); }

 private:
  static std::vector<LayerPtr> seeded() {
    set_random_seed(6);
    return {layers::dense({.units = 32, .activation = "relu"}), layers::dense({.units = 1})};
  }
};

int main() {
  const auto [x, y] = guide::samples(1000);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "etude-guide-data";
  std::filesystem::create_directories(folder);

  TwoLayers of_arrays;
  guide::report("arrays", *of_arrays.fit(x, y, {.batch_size = 50, .epochs = 2, .verbose = 2, .validation_split = 0.2}));

  TwoLayers of_dataset;
  const Dataset rows = Dataset::from_tensor_slices({{x}, {y}, {}});
  guide::report("dataset",
                *of_dataset.fit(rows.shuffle(1000, {.seed = 1}).batch(50).prefetch(2), {.epochs = 2, .verbose = 2}));

  TwoLayers of_sequence;
  guide::report("sequence", *of_sequence.fit(std::make_shared<Batches>(x, y), {.epochs = 2, .verbose = 2}));

  TwoLayers of_generator;
  guide::report("generator", *of_generator.fit(generate(x, y), {.verbose = 2}));

  // A file is read row by row: only the rows of the next batch are in memory.
  NpyWriter file(folder / "x.npy");
  file.append(x);
  file.commit();
  TwoLayers of_file;
  guide::report("row by row", *of_file.fit(Data(std::make_shared<NpyFile>(folder / "x.npy"), y),
                                           {.batch_size = 50, .epochs = 2, .verbose = 2}));

  std::ofstream(folder / "houses.csv") << "rooms,area,price\n2,0.5,0.7\n3,0.8,1.1\n4,1.1,1.6\n5,1.5,2.2\n";
  TwoLayers of_csv;
  guide::report("csv", *of_csv.fit(read_csv(folder / "houses.csv", {.label = "price"}).batch(2), {.verbose = 2}));

  for (const Tensor& batch : of_arrays.predict_stream(x, {.batch_size = 256, .verbose = 0}))
    std::printf("predictions: rows=%lld first=%.5f\n", static_cast<long long>(batch.shape()[0]), batch.at(0));
  of_arrays.predict_stream(x, {.batch_size = 256, .verbose = 0}).write_npy({folder / "predictions.npy"});
  std::filesystem::remove_all(folder);
}
