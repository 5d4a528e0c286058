#include "etude/training/detail/worker_adapter.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "etude/base/error.hpp"
#include "etude/distribute/detail/replicated_plan.hpp"

namespace etude {
namespace {

constexpr const char* where = "MultiWorkerMirroredStrategy";
/// Instead of a number of rows.
constexpr std::int64_t ended = -1, failed = -2;

/// The policies in the order of their numbers.
constexpr std::array<std::string_view, 4> policies{"auto", "data", "file", "off"};

/// Throws an Error unless a number is the same in all processes.
void check_equal(Workers& workers, std::int64_t own, const char* what, const char* advice,
                 ErrorKind kind = ErrorKind::value) {
  const std::vector<std::int64_t> all = workers.all_gather(own);
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    check(all[rank] == all.front(), kind, where, what, ' ', all.front(), " in rank 0 and ", all[rank], " in rank ",
          rank, " - expected the same in all processes - ", advice);
}

/// The numbers that the processes exchange before each step.
struct Report {
  std::int64_t rows, shapes, batches = 0, steps = 0;
};

std::vector<Report> exchange(const Report& own, Workers& workers) {
  std::vector<Report> reports(static_cast<std::size_t>(workers.count()));
  const std::vector<std::size_t> sizes(reports.size(), sizeof own);
  workers.all_gather(std::as_bytes(std::span(&own, 1)), sizes, std::as_writable_bytes(std::span(reports)).data());
  return reports;
}

void check_read(const Report& report, std::size_t rank) {
  check(report.rows != failed, ErrorKind::data, where, "rank ", rank,
        " cannot read its data - expected batches in each process - see the error of that process.");
}

void check_shapes(const Report& report, std::size_t rank, const Report& first) {
  check(report.shapes == first.shapes, ErrorKind::data, where, "a batch of rank ", rank,
        " that differs from that of rank 0 in more than rows - expected the same tensors, dtypes and shapes behind "
        "the rows in all processes - pad them alike.");
}

/// The data of all processes, as this one reads it.
std::unique_ptr<DataAdapter> common(std::unique_ptr<DataAdapter> own, const AdapterOptions& options, Workers& workers) {
  constexpr const char* advice =
      "give all of them the same data and options, or a Dataset with auto_shard_policy = "
      "\"off\".";
  const auto check_data = [&](std::int64_t number, const char* what) {
    check_equal(workers, number, what, advice, ErrorKind::data);
  };
  check_data(options.rows.steps.value_or(0), "the number of steps (0: as many as batches),");
  check_data(own->infinite() ? -2 : own->size().value_or(-1), "the number of batches (-1: unknown, -2: no end),");
  check_data(own->batch_size().value_or(0), "the rows of a batch (0: unknown),");
  check_data(own->partial_batch_size().value_or(0), "the rows of the last batch (0: as the others),");
  if (own->batch_size()) return own;
  return std::make_unique<CommonAdapter>(std::move(own), workers);
}

/// The policy that a dataset has in all processes; "auto" is decided.
std::string_view policy_of(const Dataset& dataset, Purpose purpose, Workers& workers) {
  std::string_view policy = *std::ranges::find(policies, dataset.options().auto_shard_policy);
  check_equal(workers, std::ranges::find(policies, policy) - policies.begin(), "auto_shard_policy",
              "run the same program in them.");
  const std::int64_t files = dataset.file_count();
  check(!workers.elastic() || policy == "auto" || policy == "data", ErrorKind::value, where, "auto_shard_policy = \"",
        policy,
        "\" with elastic = true - expected \"data\", because the data of a process that ends is lost - set it.");
  if (workers.elastic()) return "data";
  // The files of a dataset that each process reads alone may differ.
  if (policy != "off")
    check_equal(workers, files, "the number of files,",
                "give all processes the same files, or set auto_shard_policy to \"off\".");
  if (policy == "auto") policy = files >= workers.count() ? "file" : "data";
  check(policy != "file" || files >= workers.count(), ErrorKind::value, where,
        "auto_shard_policy = \"file\" with a dataset of ", files, " files for ", workers.count(),
        " processes - expected a file for each - divide the data into more files, or set the policy to \"data\".");
  return policy == "file" && purpose == Purpose::prediction ? "data" : policy;
}

/// A number for everything of a batch but its rows: equal ones have equal numbers.
std::int64_t shapes_of(const Batch& batch) {
  std::uint64_t hash = 14695981039346656037U;
  const auto mix = [&](std::size_t number) { hash = (hash ^ number) * 1099511628211U; };
  for (const auto* group : {&batch.x, &batch.y, &batch.sample_weight, &batch.mask}) {
    mix(group->size());
    for (const Tensor& tensor : *group) {
      mix(tensor ? 1 + tensor.shape().rank() : 0);
      if (!tensor) continue;
      mix(static_cast<std::size_t>(tensor.dtype()));
      const Shape& shape = tensor.shape();
      for (const std::int64_t extent : shape.slice(1, shape.rank())) mix(static_cast<std::size_t>(extent));
    }
  }
  return static_cast<std::int64_t>(hash);
}

template <class Convert> Batch converted(const Batch& batch, const Convert& convert) {
  Batch result{batch.x, batch.y, batch.sample_weight, batch.mask};
  result.names = batch.names;
  for (auto* group : {&result.x, &result.y, &result.sample_weight, &result.mask})
    for (Tensor& tensor : *group)
      if (tensor) tensor = convert(tensor);
  return result;
}

}  // namespace

std::unique_ptr<DataAdapter> worker_adapter(const Data& data, const AdapterOptions& options, Purpose purpose,
                                            Workers& workers) {
  const auto adapter_of = [&](std::unique_ptr<DataAdapter> own, int pieces, Passes passes) {
    return std::make_unique<WorkerAdapter>(std::move(own), workers, pieces, passes);
  };
  if (std::holds_alternative<DatasetCreator>(data.kind())) {
    check(
        !workers.elastic(), ErrorKind::value, where,
        "a DatasetCreator with elastic = true - expected data that every process reads, because the data of a process "
        "that ends is lost - pass a Dataset.");
    AdapterOptions own = options;
    own.context = {workers.count(), workers.rank(), workers.count()};
    return adapter_of(data.adapter(own), 1, Passes::one);
  }
  const auto* dataset = std::get_if<Dataset>(&data.kind());
  const std::string_view policy = dataset ? policy_of(*dataset, purpose, workers) : "data";
  if (policy == "data") return common(data.adapter(options), options, workers);
  const Data part = policy == "off" ? *dataset : dataset->shard_files(workers.count(), workers.rank());
  return adapter_of(part.adapter(options), workers.count(), options.rows.steps ? Passes::one : Passes::each_epoch);
}

const Batch* CommonAdapter::consume() {
  const Batch* own = nullptr;
  std::exception_ptr error;
  try {
    own = own_->consume();
  } catch (...) {
    error = std::current_exception();
  }
  const std::vector<Report> reports = exchange({error ? failed
                                                : own ? own->size()
                                                      : ended,
                                                own ? shapes_of(*own) : 0},
                                               workers_);
  if (error) std::rethrow_exception(error);
  for (std::size_t rank = 0; rank < reports.size(); ++rank) check_read(reports[rank], rank);
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    check(reports[rank].rows == reports.front().rows, ErrorKind::data, where, "a batch with ", reports.front().rows,
          " rows in rank 0 and ", reports[rank].rows, " in rank ", rank,
          " (-1: the data has ended) - expected the same in all processes - give all of them the same data, or a "
          "Dataset with auto_shard_policy = \"off\".");
    check_shapes(reports[rank], rank, reports.front());
  }
  return own;
}

WorkerAdapter::WorkerAdapter(std::unique_ptr<DataAdapter> own, Workers& workers, int pieces, Passes passes)
    : own_(std::move(own)),
      workers_(workers),
      pieces_(pieces),
      passes_(passes),
      places_(2 * static_cast<std::size_t>(workers.count())) {
  const std::vector<std::int64_t> endless = workers.all_gather(own_->infinite() ? 1 : 0);
  infinite_ = std::ranges::find(endless, 1) != endless.end();
}

void WorkerAdapter::begin_epoch(int epoch) {
  own_->begin_epoch(epoch);
  epoch_ = epoch;
  batches_ = step_ = 0;
  current_ = nullptr;
  std::ranges::fill(places_, 0);
}

/// Ends the current batch after its last step.
void WorkerAdapter::leave_batch() {
  if (!current_ || step_ < std::min<std::int64_t>(pieces_, current_->size())) return;
  current_ = nullptr;
  ++batches_;
  step_ = 0;
}

PendingPtr WorkerAdapter::fetch() {
  leave_batch();
  return current_ ? nullptr : own_->fetch();
}

const Batch* WorkerAdapter::peek() {
  const Batch* const batch = own_->peek();
  if (batch && example_.x.empty()) example_ = *batch;
  if (!std::exchange(peeked_, true)) {
    const std::vector<std::int64_t> any = workers_.all_gather(batch ? 1 : 0);
    const auto none = std::ranges::find(any, 0);
    check(none == any.end(), ErrorKind::data, where, "no batch in rank ", none - any.begin(),
          " - expected some data in each process - divide it in another way.");
  }
  return batch;
}

/// This process's rows of the next step; null at the end of its data.
const Batch* WorkerAdapter::next() {
  for (leave_batch(); !current_; leave_batch()) {
    current_ = own_->consume();
    if (!current_) return nullptr;
    example_ = *current_;
  }
  const RowRange rows = rows_of(current_->size(), pieces_, static_cast<int>(step_++));
  batch_ = converted(*current_, [&](const Tensor& tensor) { return tensor.rows(rows.begin, rows.end); });
  return &batch_;
}

const Batch* WorkerAdapter::consume() {
  const Batch* own = nullptr;
  std::exception_ptr error;
  try {
    own = next();
  } catch (...) {
    error = std::current_exception();
  }
  const std::vector<Report> reports = exchange({error ? failed
                                                : own ? own->size()
                                                      : ended,
                                                shapes_of(own ? *own : example_), batches_, step_},
                                               workers_);
  if (error) std::rethrow_exception(error);
  rows_.clear();
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const Report& report = reports[rank];
    check_read(report, rank);
    check_shapes(report, rank, reports.front());
    rows_.push_back(std::max<std::int64_t>(report.rows, 0));
    places_[2 * rank] = report.batches;
    places_[2 * rank + 1] = report.steps;
  }
  if (std::ranges::all_of(rows_, [](std::int64_t rows) { return rows == 0; })) return nullptr;
  if (std::ranges::find(rows_, 0) != rows_.end()) return whole();
  batch_.worker_rows = rows_;
  return &batch_;
}

/// The rows of all processes.
const Batch* WorkerAdapter::whole() {
  const bool has_rows = rows_[static_cast<std::size_t>(workers_.rank())] > 0;
  const std::int64_t all = std::accumulate(rows_.begin(), rows_.end(), std::int64_t{0});
  const Batch own = has_rows ? batch_ : example_;
  batch_ = converted(own, [&](const Tensor& tensor) {
    Shape shape = tensor.shape();
    const std::size_t row = tensor.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(shape[0], 1));
    shape[0] = all;
    Tensor result = Tensor::uninitialized(shape, tensor.dtype());
    std::vector<std::size_t> sizes;
    for (const std::int64_t rows : rows_) sizes.push_back(row * static_cast<std::size_t>(rows));
    workers_.all_gather({tensor.raw(), has_rows ? tensor.bytes() : 0}, sizes, result.raw());
    return result;
  });
  return &batch_;
}

DataState WorkerAdapter::state() const {
  DataState state{epoch_};
  state.insert(state.end(), places_.begin(), places_.end());
  return state;
}

void WorkerAdapter::restore(const DataState& state) {
  check_state(state, 1 + places_.size(), where);
  epoch_ = static_cast<int>(state[0]);
  places_.assign(state.begin() + 1, state.end());
  const auto own = 2 * static_cast<std::size_t>(workers_.rank());
  batches_ = places_[own];
  step_ = places_[own + 1];
  if (example_.x.empty())
    if (const Batch* first = own_->peek()) example_ = *first;
  own_->restore({epoch_, batches_});
  current_ = nullptr;
}

}  // namespace etude
