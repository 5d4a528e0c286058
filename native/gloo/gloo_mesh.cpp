#include "gloo/gloo_mesh.hpp"

#include <gloo/rendezvous/store.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <sched.h>

#include <algorithm>
#include <exception>
#include <thread>
#include <utility>

namespace etude {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

[[noreturn]] void end_operation() { throw gloo::IoException("the connection of a process ended"); }

/// A buffer of Gloo whose waits end when the alarm rings.
class WatchedBuffer : public gloo::transport::UnboundBuffer {
 public:
  WatchedBuffer(std::unique_ptr<UnboundBuffer> buffer, std::shared_ptr<Alarm> alarm)
      : UnboundBuffer(buffer->ptr, buffer->size), buffer_(std::move(buffer)), alarm_(std::move(alarm)) {
    alarm_->add(buffer_.get());
  }
  ~WatchedBuffer() override { alarm_->remove(buffer_.get()); }
  WatchedBuffer(const WatchedBuffer&) = delete;
  WatchedBuffer& operator=(const WatchedBuffer&) = delete;

  bool waitRecv(int* rank, milliseconds timeout) override {
    if (!buffer_->waitRecv(rank, timeout)) end_operation();
    return true;
  }
  bool waitSend(int* rank, milliseconds timeout) override {
    if (!buffer_->waitSend(rank, timeout)) end_operation();
    return true;
  }
  void abortWaitRecv() override { buffer_->abortWaitRecv(); }
  void abortWaitSend() override { buffer_->abortWaitSend(); }
  void send(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    buffer_->send(rank, slot, offset, bytes);
  }
  void recv(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    buffer_->recv(rank, slot, offset, bytes);
  }
  void recv(std::vector<int> ranks, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    buffer_->recv(std::move(ranks), slot, offset, bytes);
  }

 private:
  std::unique_ptr<UnboundBuffer> buffer_;
  std::shared_ptr<Alarm> alarm_;
};

/// Connections of Gloo, with such buffers.
class WatchedContext : public gloo::transport::Context {
 public:
  WatchedContext(std::shared_ptr<Context> connected, std::shared_ptr<Alarm> alarm)
      : Context(connected->rank, connected->size), connected_(std::move(connected)), alarm_(std::move(alarm)) {
    setTimeout(connected_->getTimeout());
  }
  std::unique_ptr<gloo::transport::Pair>& getPair(int other) override { return connected_->getPair(other); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int other) override { return connected_->createPair(other); }
  std::unique_ptr<gloo::transport::UnboundBuffer> createUnboundBuffer(void* memory, std::size_t bytes) override {
    return std::make_unique<WatchedBuffer>(connected_->createUnboundBuffer(memory, bytes), alarm_);
  }

 private:
  std::shared_ptr<Context> connected_;
  std::shared_ptr<Alarm> alarm_;
};

/// The interface of the rendezvous that Gloo uses.
class Store : public gloo::rendezvous::Store {
 public:
  Store(RendezvousClient& client, sockets::Deadline deadline) : client_(client), deadline_(deadline) {}
  void set(const std::string& key, const std::vector<char>& data) override {
    client_.set(key, std::string(data.begin(), data.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::string value = client_.get(key, deadline_);
    return {value.begin(), value.end()};
  }
  void wait(const std::vector<std::string>& keys) override {
    for (const std::string& key : keys) client_.get(key, deadline_);
  }
  void wait(const std::vector<std::string>& keys, const milliseconds&) override { wait(keys); }

 private:
  RendezvousClient& client_;
  sockets::Deadline deadline_;
};

}  // namespace

void Alarm::ring() {
  const std::lock_guard lock(mutex_);
  rang_ = true;
  for (gloo::transport::UnboundBuffer* buffer : buffers_) {
    buffer->abortWaitSend();
    buffer->abortWaitRecv();
  }
  changed_.notify_all();
}

bool Alarm::rang() {
  const std::lock_guard lock(mutex_);
  return rang_;
}

void Alarm::check() {
  if (rang()) end_operation();
}

void Alarm::add(gloo::transport::UnboundBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  if (rang_) end_operation();
  buffers_.push_back(buffer);
}

void Alarm::remove(gloo::transport::UnboundBuffer* buffer) {
  const std::lock_guard lock(mutex_);
  std::erase(buffers_, buffer);
}

void Alarm::run(const std::shared_ptr<Alarm>& alarm, std::function<void()> function, sockets::Deadline deadline) {
  struct Result {
    bool ended = false;
    std::exception_ptr error;
  };
  const auto result = std::make_shared<Result>();
  std::thread thread([alarm, result, function = std::move(function)]() mutable {
    std::exception_ptr error;
    try {
      function();
    } catch (...) {
      error = std::current_exception();
    }
    function = nullptr;
    const std::lock_guard lock(alarm->mutex_);
    result->ended = true;
    result->error = error;
    alarm->changed_.notify_all();
  });
  std::unique_lock lock(alarm->mutex_);
  alarm->changed_.wait_until(lock, deadline, [&] { return result->ended || alarm->rang_; });
  const bool ended = result->ended;
  lock.unlock();
  ended ? thread.join() : thread.detach();
  if (!ended) throw gloo::IoException("not all processes were connected before the deadline");
  if (result->error) std::rethrow_exception(result->error);
}

GlooMesh::GlooMesh(int own_rank, int count, std::shared_ptr<Alarm> alarm)
    : Context(own_rank, count), alarm_(std::move(alarm)) {}

void GlooMesh::connect(RendezvousClient& client, const std::string& host, sockets::Deadline deadline,
                       milliseconds timeout) {
  // The thread that Gloo starts inherits this policy, with which a thread that wakes does not preempt others. Gloo's
  // thread polls for a lock that a sending thread holds. If it preempted the sender, it would poll until the
  // scheduler's next tick, milliseconds later.
  constexpr sched_param no_priority{};
  ::sched_setscheduler(0, SCHED_BATCH, &no_priority);
  gloo::transport::tcp::attr bound;
  bound.hostname = host;
  std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(bound);
  Store store(client, deadline);
  // If a connection that Gloo accepts was reset, because a process was killed, Gloo throws on its own thread, which
  // aborts this process. A subclass of its pairs could catch that, but the headers that are installed lack parts.
  setTimeout(std::max(timeout, milliseconds(1)));
  connectFullMesh(store, device);
  transportContext_ = std::make_shared<WatchedContext>(std::move(transportContext_), alarm_);
  client.set("connected/" + std::to_string(rank), "");
  for (int other = 0; other < size; ++other) client.get("connected/" + std::to_string(other), deadline);
}

}  // namespace etude
