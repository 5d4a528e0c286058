#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>

#include <optional>
#include <utility>

#include "coordinator/connection.hpp"
#include "coordinator/parts.hpp"
#include "coordinator/worker.hpp"
#include "etude/training/coordinator.hpp"

namespace etude {
namespace coordinator {
namespace {

constexpr const char* where = "run_server";
/// The most connections that have not greeted yet.
constexpr int most_strangers = 64;
/// After a connection could not be accepted.
constexpr std::chrono::milliseconds accept_pause{100};

kj::Promise<void> done() { return kj::READY_NOW; }

/// The calls of both kinds of servers.
class TaskBase : public schema::Task::Server {
 public:
  explicit TaskBase(kj::PromiseFulfiller<void>& end) : end_(end) {}
  kj::Promise<void> ping(PingContext) override { return done(); }
  kj::Promise<void> shutdown(ShutdownContext) override {
    end_.fulfill();
    return done();
  }

 protected:
  /// Runs a function; a failure goes into the response.
  template <class Context, class Function> static kj::Promise<void> answer(Context& context, Function&& function) {
    try {
      function();
    } catch (...) {
      write(context.getResults().initFailure(), current_failure());
    }
    return done();
  }

 private:
  kj::PromiseFulfiller<void>& end_;
};

class WorkerTask final : public TaskBase {
 public:
  WorkerTask(kj::PromiseFulfiller<void>& end, FunctionThread& functions) : TaskBase(end), functions_(functions) {}

  kj::Promise<void> run(RunContext context) override {
    const auto call = context.getParams();
    std::vector<PerWorkerDataset> datasets;
    for (const auto& each : call.getDatasets()) datasets.push_back({each.getName().cStr(), each.getId()});
    auto outcome = functions_.run(call.getFunction().cStr(), read(call.getArguments()), std::move(datasets));
    context.releaseParams();
    return outcome.then([context](Outcome result) mutable {
      if (const auto* failed = std::get_if<Failed>(&result)) return write(context.getResults().initFailure(), *failed);
      const auto& tensors = std::get<std::vector<Tensor>>(result);
      auto response = context.getResults(capnp::MessageSize{words_of(tensors), 0});
      write(response.initResults(static_cast<capnp::uint>(tensors.size())), tensors);
    });
  }

 private:
  FunctionThread& functions_;
};

class ServerTask final : public TaskBase {
 public:
  ServerTask(kj::PromiseFulfiller<void>& end, Parts& parts) : TaskBase(end), parts_(parts) {}

  kj::Promise<void> create(CreateContext context) override {
    return answer(context, [&] {
      std::vector<Part> parts;
      for (const auto& each : context.getParams().getParts())
        parts.push_back({each.getName().cStr(), each.getBegin(), each.getRows(), each.getTrainable()});
      parts_.create(parts, read(context.getParams().getValues()));
    });
  }
  kj::Promise<void> list(ListContext context) override {
    const std::vector<Part>& parts = parts_.list();
    auto list = context.getResults().initParts(static_cast<capnp::uint>(parts.size()));
    for (capnp::uint i = 0; i < list.size(); ++i) {
      list[i].setName(parts[i].name);
      list[i].setBegin(parts[i].begin);
      list[i].setRows(parts[i].rows);
    }
    return done();
  }
  kj::Promise<void> pull(PullContext context) override {
    return answer(context, [&] {
      std::vector<std::string> keys;
      for (const auto& each : context.getParams().getNames()) keys.emplace_back(each.cStr());
      const std::vector<Tensor> values = parts_.pull(keys);
      auto response = context.getResults(capnp::MessageSize{words_of(values), 0});
      write(response.initValues(static_cast<capnp::uint>(values.size())), values);
    });
  }
  kj::Promise<void> push(PushContext context) override {
    return answer(context, [&] { parts_.push(read(context.getParams().getGradients())); });
  }
  kj::Promise<void> assign(AssignContext context) override {
    return answer(context, [&] { parts_.assign(read(context.getParams().getValues())); });
  }
  kj::Promise<void> slots(SlotsContext context) override {
    return answer(context, [&] {
      const Named values = parts_.slots();
      auto response = context.getResults(capnp::MessageSize{words_of(values), 0});
      write(response.initValues(static_cast<capnp::uint>(values.size())), values);
    });
  }
  kj::Promise<void> restoreSlots(RestoreSlotsContext context) override {
    return answer(context, [&] { parts_.restore_slots(read(context.getParams().getValues())); });
  }

 private:
  Parts& parts_;
};

/// A connection, and the object that answers its calls.
struct Guest {
  explicit Guest(kj::Own<kj::AsyncIoStream> from) : stream(kj::mv(from)) {}
  kj::Own<kj::AsyncIoStream> stream;
  std::optional<capnp::TwoPartyVatNetwork> network = {};
  std::optional<capnp::RpcSystem<capnp::rpc::twoparty::VatId>> system = {};
};

/// Accepts connections, and waits for the end of the coordinator.
class Server final : private kj::TaskSet::ErrorHandler {
 public:
  Server(kj::AsyncIoContext& io, const ServerCluster& cluster, const CoordinatorOptions& options,
         sockets::Socket listening)
      : io_(io), cluster_(cluster), options_(options), end_(kj::newPromiseAndFulfiller<void>()), tasks_(*this) {
    using Flags = kj::LowLevelAsyncIoProvider::Flags;
    receiver_ = io.lowLevelProvider->wrapListenSocketFd(
        listening.release(),
        static_cast<kj::uint>(Flags::TAKE_OWNERSHIP) | Flags::ALREADY_CLOEXEC | Flags::ALREADY_NONBLOCK);
    wait_for_coordinator();
  }

  kj::PromiseFulfiller<void>& end() { return *end_.fulfiller; }
  /// Answers by `task` until the coordinator ends.
  void run(schema::Task::Client task) {
    tasks_.add(accept(kj::mv(task)));
    try {
      end_.promise.wait(io_.waitScope);
    } catch (const kj::Exception&) {
      throw UnavailableError("chief", 0, "it has been absent too long");
    }
  }

 private:
  kj::Promise<void> accept(schema::Task::Client task) {
    schema::Task::Client again = task;
    return kj::evalNow([this] { return receiver_->accept(); })
        .then(
            [this, task = kj::mv(task)](kj::Own<kj::AsyncIoStream> stream) mutable {
              if (strangers_ < most_strangers) tasks_.add(serve(kj::mv(stream), task));
              return accept(kj::mv(task));
            },
            // For example, there are too many open files.
            [this, again = kj::mv(again)](kj::Exception&&) mutable {
              return io_.provider->getTimer()
                  .afterDelay(duration_of(accept_pause))
                  .then([this, again = kj::mv(again)]() mutable { return accept(kj::mv(again)); });
            });
  }

  kj::Promise<void> serve(kj::Own<kj::AsyncIoStream> stream, schema::Task::Client task) {
    KJ_IF_MAYBE (descriptor, stream->getFd()) sockets::end_if_lost(*descriptor, options_.timeout);
    auto own = kj::heap<Guest>(kj::mv(stream));
    Guest& guest = *own;
    ++strangers_;
    return io_.provider->getTimer()
        .timeoutAfter(duration_of(greeting_time), greet(*guest.stream, cluster_))
        .then(
            [this](Peer peer) {
              --strangers_;
              return peer;
            },
            [this](kj::Exception&& exception) -> Peer {
              --strangers_;
              kj::throwFatalException(kj::mv(exception));
            })
        .then([this, &guest, task = kj::mv(task)](const Peer& peer) mutable {
          guest.network.emplace(*guest.stream, capnp::rpc::twoparty::Side::SERVER, reader_options());
          guest.system.emplace(capnp::makeRpcServer(*guest.network, kj::mv(task)));
          if (peer.task != "chief") return guest.network->onDisconnect();
          ++coordinators_;
          return guest.network->onDisconnect().then([this] {
            if (--coordinators_ == 0) wait_for_coordinator();
          });
        })
        .attach(kj::mv(own));
  }

  void wait_for_coordinator() {
    const int absence = ++absences_;
    tasks_.add(io_.provider->getTimer().afterDelay(duration_of(options_.absence)).then([this, absence] {
      if (coordinators_ > 0 || absence != absences_) return;
      end_.fulfiller->reject(kj::Exception(kj::Exception::Type::DISCONNECTED, __FILE__, __LINE__));
    }));
  }

  /// A connection that failed.
  void taskFailed(kj::Exception&&) override {}

  kj::AsyncIoContext& io_;
  const ServerCluster& cluster_;
  const CoordinatorOptions& options_;
  kj::PromiseFulfillerPair<void> end_;
  kj::Own<kj::ConnectionReceiver> receiver_;
  int strangers_ = 0, coordinators_ = 0, absences_ = 0;
  kj::TaskSet tasks_;
};

}  // namespace
}  // namespace coordinator

void run_server(const ServerCluster& cluster, const ServerProgram& program, CoordinatorOptions options) {
  using namespace coordinator;
  const bool is_worker = cluster.task == "worker";
  check(is_worker || cluster.task == "ps", ErrorKind::value, where, "the task \"", cluster.task,
        "\" - expected \"worker\" or \"ps\" - let the chief make a ClusterCoordinator.");
  check_cluster(cluster, where);
  const std::size_t count = is_worker ? cluster.workers.size() : cluster.servers.size();
  check(cluster.index >= 0 && static_cast<std::size_t>(cluster.index) < count, ErrorKind::value, where, "index ",
        cluster.index, " with ", count, " addresses - expected an index into them - correct the cluster.");
  const sockets::Address address = address_of(cluster, {cluster.task, cluster.index});
  std::string reason;
  sockets::Socket listening = sockets::listen_at(address, reason);
  check(static_cast<bool>(listening), ErrorKind::io, where, "no connections at ", address.host, ":", address.port, ": ",
        reason, " - expected a free port of this machine - choose another address.");
  kj::AsyncIoContext io = kj::setupAsyncIo();
  Server server(io, cluster, options, std::move(listening));
  if (is_worker) {
    FunctionThread functions(cluster, program, options);
    server.run(kj::heap<WorkerTask>(server.end(), functions));
  } else {
    Parts parts(program.optimizer ? program.optimizer() : nullptr);
    server.run(kj::heap<ServerTask>(server.end(), parts));
  }
}

}  // namespace etude
