#include "gloo/gloo_workers.hpp"

#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "gloo/rendezvous.hpp"
#include "gloo/sum_thread.hpp"

// Workers by Gloo over TCP, and by a rendezvous at the chief's address.
namespace etude {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Values that are summed together, if there are several: they are copied into one buffer.
constexpr std::size_t most_fused_bytes = 25 << 20;

/// The least bytes of a sum that runs beside the backward pass. The time of smaller ones is mostly latency.
constexpr std::size_t usual_bucket_bytes = 1 << 20;

/// How long operations may take that a process began before it left.
constexpr milliseconds last_operations{1000};

/// While it exists, this thread, and threads that it starts, get no SIGPIPE. Gloo writes to connections that may have
/// ended, which would end the process.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutPipeSignal() {
    if (::sigismember(&before_, SIGPIPE) == 1) return;
    constexpr timespec at_once{0, 0};
    while (::sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

/// The message of an exception of Gloo, without the place in its sources.
std::string cause_of(const std::exception& error) {
  std::string text = error.what();
  if (const std::size_t end = text.find("] "); !text.empty() && text.front() == '[' && end != std::string::npos)
    text.erase(0, end + 2);
  return text;
}

class GlooWorkers : public Workers {
 public:
  GlooWorkers(const Cluster& cluster, const WorkerOptions& options, std::shared_ptr<Alarm> alarm, bool serves)
      : cluster_(cluster),
        serves_(serves),
        bucket_bytes_(options.bytes_per_pack ? options.bytes_per_pack : usual_bucket_bytes),
        timeout_(std::max(options.timeout, milliseconds(1))),
        alarm_(std::move(alarm)) {
    if (cluster.size == 1) return;
    const auto deadline = steady_clock::now() + options.connect_timeout;
    const std::optional<sockets::Address> chief = sockets::parse_address(cluster.chief);
    check(chief.has_value(), ErrorKind::value, "connect_workers", '"', cluster.chief,
          "\" as address of the chief - expected \"host:port\" - correct the cluster.");
    sockets::check_secret("connect_workers", cluster.secret, std::array{chief->host, cluster.host});
    if (serves && cluster.rank == 0) {
      std::string reason;
      sockets::Socket listening = sockets::listen_at(*chief, reason);
      check(static_cast<bool>(listening), ErrorKind::io, "connect_workers", "no connections at ", cluster.chief, ": ",
            reason, " - expected a free port of this machine - choose another address for rank 0.");
      server_ =
          std::make_unique<RendezvousServer>(std::move(listening), cluster.size, cluster.generation, cluster.secret);
    }
    client_ = std::make_shared<RendezvousClient>(*chief, cluster.rank, cluster.size, cluster.generation, cluster.secret,
                                                 deadline);
    client_->on_failure([alarm = alarm_] { alarm->ring(); });
    run("connect", [&] {
      const auto mesh = std::make_shared<GlooMesh>(cluster.rank, cluster.size, alarm_);
      Alarm::run(
          alarm_,
          [=, client = client_, host = cluster.host, timeout = options.connect_timeout] {
            mesh->connect(*client, host, deadline, timeout);
          },
          deadline);
      mesh->setTimeout(timeout_);
      context_ = mesh;
    });
  }

  ~GlooWorkers() override {
    started_.await_all();
    const WithoutPipeSignal quiet;
    context_.reset();
  }

  std::string_view name() const override { return "gloo"; }
  int rank() const override { return cluster_.rank; }
  int count() const override { return cluster_.size; }

  void all_reduce(std::span<const ReplicaSum> bucket) override {
    started_.await_all();
    run("all_reduce", [&] { sum_all(bucket); });
  }

  std::size_t bucket_bytes() const override { return cluster_.size > 1 ? bucket_bytes_ : 0; }
  void start(std::span<const ReplicaSum> bucket, int number) override { started_.start(bucket, number); }
  void await(int number, std::size_t) override {
    started_.await(number);
    if (!has_failed_) return;
    const std::lock_guard lock(mutex_);
    if (failure_) throw CollectiveError(*failure_);
    throw CollectiveError(-1, "all_reduce", cluster_.generation, "not enough memory for the error");
  }

  void broadcast(std::span<std::byte> memory) override {
    if (memory.empty()) return;
    started_.await_all();
    run("broadcast", [&] {
      if (!context_) return;
      gloo::BroadcastOptions options(context_);
      options.setOutput(memory.data(), memory.size());
      options.setRoot(0);
      options.setTag(tag_++);
      gloo::broadcast(options);
    });
  }

  void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) override {
    if (std::ranges::all_of(sizes, [](std::size_t size) { return size == 0; })) return;
    started_.await_all();
    run("all_gather", [&] {
      if (!context_) {
        std::ranges::copy(own, all);
        return;
      }
      gloo::AllgathervOptions options(context_);
      options.setInput(const_cast<std::byte*>(own.data()), own.size());  // which Gloo only reads
      options.setOutput(all, std::vector<std::size_t>(sizes.begin(), sizes.end()));
      options.setTag(tag_++);
      gloo::allgatherv(options);
    });
  }

  using Workers::all_gather;

  void watch(const char* operation, steady_clock::time_point began) override {
    const auto waited = steady_clock::now() - began;
    if (alarm_->rang())
      give_up(operation, "its connection ended", false);
    else if (waited >= timeout_)
      give_up(operation, "it did not take part before the deadline", false);
    else if (const int left = client_ && waited >= last_operations ? client_->left() : -1; left >= 0)
      run(operation, [&] { throw CollectiveError(left, operation, cluster_.generation, "it has left"); });
  }

  void give_up(const char* operation, const std::string& cause, bool own) override {
    run(operation, [&] {
      if (own) throw std::runtime_error(cause);
      throw gloo::IoException(cause);
    });
  }

 private:
  static std::size_t bytes_of(const ReplicaSum& value) {
    return static_cast<std::size_t>(value.count) * size_of(value.dtype);
  }

  /// The number of Values at the beginning of a bucket that are summed together.
  static std::size_t fusible(std::span<const ReplicaSum> bucket) {
    std::size_t count = 1, bytes = bytes_of(bucket.front());
    while (count < bucket.size() && bucket[count].dtype == bucket.front().dtype &&
           bytes + bytes_of(bucket[count]) <= most_fused_bytes)
      bytes += bytes_of(bucket[count++]);
    return count;
  }

  void sum_all(std::span<const ReplicaSum> bucket) {
    while (!bucket.empty()) {
      const std::size_t fused = fusible(bucket);
      visit_dtype(bucket.front().dtype, [&]<class T>(T) { sum<T>(bucket.first(fused)); });
      bucket = bucket.subspan(fused);
    }
  }

  /// The same on the thread of started sums. await() throws the error.
  void sum_started(std::span<const ReplicaSum> bucket) {
    try {
      run("all_reduce", [&] { sum_all(bucket); });
    } catch (const std::exception&) {
      has_failed_ = true;
    }
  }

  template <class T> void sum(std::span<const ReplicaSum> values) {
    if (values.size() == 1) {
      const ReplicaSum& value = values.front();
      sum(reinterpret_cast<const T*>(value.parts.front()), reinterpret_cast<T*>(value.sums.front()),
          static_cast<std::size_t>(value.count));
      return;
    }
    std::size_t bytes = 0;
    for (const ReplicaSum& value : values) bytes += bytes_of(value);
    fused_.resize(std::max(fused_.size(), bytes));
    std::byte* at = fused_.data();
    for (const ReplicaSum& value : values) at = std::copy_n(value.parts.front(), bytes_of(value), at);
    T* const all = reinterpret_cast<T*>(fused_.data());
    sum(static_cast<const T*>(all), all, bytes / sizeof(T));
    at = fused_.data();
    for (const ReplicaSum& value : values) {
      std::copy_n(at, bytes_of(value), value.sums.front());
      at += bytes_of(value);
    }
  }

  /// The ring gives all processes the same bits: each sum is computed by one of them.
  template <class T> void sum(const T* part, T* result, std::size_t count) {
    if (part != result) std::copy_n(part, count, result);
    if (!context_ || count == 0) return;
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setOutput(result, count);
    options.setReduceFunction([](void* out, const void* a, const void* b, std::size_t n) {
      const T *first = static_cast<const T*>(a), *second = static_cast<const T*>(b);
      for (std::size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = static_cast<T>(first[i] + second[i]);
    });
    options.setTag(tag_++);
    gloo::allreduce(options);
  }

  template <class Operation> void run(const char* name, Operation operation) {
    const std::lock_guard lock(mutex_);
    const WithoutPipeSignal quiet;
    if (failure_) throw CollectiveError(*failure_);
    try {
      alarm_->check();
      operation();
    } catch (const CollectiveError& error) {
      abandon();
      failure_.emplace(error);
    } catch (const std::exception& error) {
      abandon();
      const bool of_connection = dynamic_cast<const gloo::IoException*>(&error) || alarm_->rang();
      failure_.emplace(of_connection ? failed_rank() : cluster_.rank, name, cluster_.generation, cause_of(error));
    }
    if (!failure_) return;
    alarm_->ring();  // so that operations of other libraries, which watch, fail too
    if (client_ && failure_->peer() == cluster_.rank) client_->abandon();
    if (server_) server_->await_questions(steady_clock::now() + milliseconds(500));
    throw CollectiveError(*failure_);
  }

  int failed_rank() { return !client_ ? -1 : serves_ ? client_->failed_rank() : client_->known_failure(); }

  /// Closes all connections, so that processes that wait for this one fail, too.
  void abandon() {
    if (!context_) return;
    try {
      context_->closeConnections();
    } catch (const std::exception&) {  // it was closed already
    }
  }

  Cluster cluster_;
  bool serves_;
  std::size_t bucket_bytes_;
  milliseconds timeout_;  ///< of an operation
  std::mutex mutex_;      ///< of the caller and the thread of started sums
  std::unique_ptr<RendezvousServer> server_;
  std::shared_ptr<RendezvousClient> client_;
  std::shared_ptr<Alarm> alarm_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<std::byte> fused_;
  std::uint32_t tag_ = 0;
  std::optional<CollectiveError> failure_;
  std::atomic<bool> has_failed_ = false;  ///< a sum that was started has failed
  SumThread started_{[this](std::span<const ReplicaSum> bucket) { sum_started(bucket); }};
};

}  // namespace

std::shared_ptr<Workers> connect_gloo(const Cluster& cluster, const WorkerOptions& options,
                                      std::shared_ptr<Alarm> alarm, bool serves) {
  return std::make_shared<GlooWorkers>(cluster, options, std::move(alarm), serves);
}

std::shared_ptr<Workers> connect_workers(const Cluster& cluster, WorkerOptions options) {
  check(cluster.size >= 1 && cluster.rank >= 0 && cluster.rank < cluster.size, ErrorKind::value, "connect_workers",
        "rank ", cluster.rank, " of ", cluster.size, " processes - expected 0 to size - 1 - correct the cluster.");
  if (!cluster.membership.empty()) return connect_elastic(cluster, options);
  return connect_gloo(cluster, options, std::make_shared<Alarm>(), true);
}

}  // namespace etude
