#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "etude/base/random.hpp"
#include "etude/distribute/detail/membership.hpp"
#include "etude/saving/detail/share_checkpoint.hpp"
#include "etude/training/detail/training.hpp"
#include "gloo/gloo_workers.hpp"
#include "gloo/membership_client.hpp"
#include "gloo/state_keeper.hpp"

// Processes that may leave and join during fit. A membership server decides which of them form a group; each group has
// its own connections of Gloo.
namespace etude {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* where = "connect_workers";

/// The most groups in a row that may fail before they continue.
constexpr int most_attempts = 100;

/// Instead of the number of a state: this process has none, because it joins.
constexpr std::int64_t joins = std::numeric_limits<std::int64_t>::max();

sockets::Address address_of(const Cluster& cluster) {
  const std::optional<sockets::Address> address = sockets::parse_address(cluster.membership);
  check(address.has_value(), ErrorKind::value, where, '"', cluster.membership,
        "\" as address of the membership server - expected \"host:port\" - correct the cluster.");
  sockets::check_secret(where, cluster.secret, std::array{address->host, cluster.host});
  return *address;
}

class ElasticWorkers : public Workers, public Membership {
 public:
  ElasticWorkers(const Cluster& cluster, const WorkerOptions& options)
      : cluster_(cluster),
        options_(options),
        server_(address_of(cluster)),
        client_(server_, cluster, options, steady_clock::now() + options.connect_timeout),
        late_(client_.late()),
        has_joined_(!late_) {
    if (late_)
      current_ = connect_gloo({}, options, std::make_shared<Alarm>(), false);
    else
      enter(client_.first(steady_clock::now() + options.connect_timeout));
  }

  std::string_view name() const override { return "gloo"; }
  int rank() const override { return current_->rank(); }
  int count() const override { return current_->count(); }
  bool is_chief() const override { return !late_ && rank() == 0; }
  int changes() const override { return changes_; }
  bool elastic() const override { return true; }
  Membership* membership() override { return over_ ? nullptr : this; }
  void all_reduce(std::span<const ReplicaSum> bucket) override { current_->all_reduce(bucket); }
  std::size_t bucket_bytes() const override { return current_->bucket_bytes(); }
  void start(std::span<const ReplicaSum> bucket, int number) override { current_->start(bucket, number); }
  void await(int number, std::size_t replica) override { current_->await(number, replica); }
  void broadcast(std::span<std::byte> memory) override { current_->broadcast(memory); }
  void all_gather(std::span<const std::byte> own, std::span<const std::size_t> sizes, std::byte* all) override {
    current_->all_gather(own, sizes, all);
  }
  using Workers::all_gather;
  void watch(const char* operation, steady_clock::time_point began) override { current_->watch(operation, began); }
  void give_up(const char* operation, const std::string& cause, bool own) override {
    current_->give_up(operation, cause, own);
  }

  std::shared_ptr<Callback> keeper() override { return keeper_; }
  bool late() const override { return late_; }

  Task<> recover(Training& training) override {
    std::int64_t common = -1;
    for (int attempt = 1; common < 0; ++attempt) {
      try {
        reform(training);
        common = agree();
      } catch (const CollectiveError&) {
        if (client_.lost() || attempt == most_attempts) throw;
      }
      check(common != joins, ErrorKind::state, where,
            "no process with a state of the training is left - expected one - start all of them again.");
    }
    co_await keeper_->rewind(training, common);
  }

  bool finish() override {
    client_.done(generation_);
    next_ = client_.next(deadline());
    over_ = !next_;
    return over_;
  }

 private:
  sockets::Deadline deadline() const { return steady_clock::now() + options_.timeout + options_.connect_timeout; }

  void reform(Training& training) {
    std::optional<MembershipClient::Group> group = std::exchange(next_, std::nullopt);
    if (!group) {
      late_ ? client_.join() : client_.ready(generation_);
      group = client_.next(deadline());
    }
    if (!group) leave(training);
    enter(*group);
  }

  /// The others have completed the training before this process could join.
  [[noreturn]] static void leave(Training& training) {
    for (const CallbackPtr& callback : training.callbacks()) callback->release();
    std::fflush(nullptr);
    std::_Exit(0);  // other threads may use static objects
  }

  void enter(const MembershipClient::Group& group) {
    generation_ = group.generation;
    late_ = false;
    const auto alarm = std::make_shared<Alarm>();
    client_.on_interrupt(generation_, [alarm] { alarm->ring(); });
    Cluster cluster = cluster_;
    cluster.rank = group.rank;
    cluster.size = group.size;
    cluster.generation = generation_;
    cluster.chief =
        (server_.host.find(':') == std::string::npos ? server_.host : '[' + server_.host + ']') + ':' + group.port;
    current_ = connect_gloo(cluster, options_, alarm, false);
    ++changes_;
  }

  /// The number of the newest state that all processes have reached, which this one then has; -1 if there is none, and
  /// `joins` if no process has one.
  std::int64_t agree() {
    const std::vector<std::int64_t> newest = all_gather(has_joined_ ? keeper_->newest() : joins);
    const auto root = std::ranges::min_element(newest);
    if (*root == joins || *root < 0) return joins;
    check_seed(static_cast<std::size_t>(root - newest.begin()));
    // Before a process continues from there, all have discarded later states, so that numbers stay unambiguous.
    keeper_->forget_after(*root);
    const std::vector<std::int64_t> have = all_gather(keeper_->find(*root) ? 1 : 0);
    if (std::ranges::find(have, 0) != have.end()) {
      std::optional<Checkpoint> state;
      const int from = static_cast<int>(root - newest.begin());
      if (rank() == from) state = *keeper_->find(*root);
      share_checkpoint(state, *this, from);
      if (!keeper_->find(*root)) keeper_->add(*root, std::move(*state));
    }
    has_joined_ = true;
    return *root;
  }

  /// The shuffles of a Dataset depend on the seed, so a process that joins must have that of the others.
  void check_seed(std::size_t root) {
    const std::vector<std::int64_t> seeds = all_gather(static_cast<std::int64_t>(random_seed()));
    check(has_joined_ || seeds[root] == seeds[static_cast<std::size_t>(rank())], ErrorKind::value, where,
          "the random seed ", random_seed(), " in a process that joins - expected ",
          static_cast<std::uint64_t>(seeds[root]),
          ", that of the others - call set_random_seed with the same number in all processes.");
  }

  Cluster cluster_;
  WorkerOptions options_;
  sockets::Address server_;
  MembershipClient client_;
  std::shared_ptr<StateKeeper> keeper_ = std::make_shared<StateKeeper>();
  std::shared_ptr<Workers> current_;  ///< the group
  std::optional<MembershipClient::Group> next_;
  int generation_ = 0, changes_ = 0;
  bool late_;        ///< not in a group yet
  bool has_joined_;  ///< takes part in the choice of a common state
  bool over_ = false;
};

}  // namespace

std::shared_ptr<Workers> connect_elastic(const Cluster& cluster, const WorkerOptions& options) {
  check(std::min(options.silence, options.timeout) >= milliseconds(1), ErrorKind::value, where, "WorkerOptions with ",
        options.silence.count(), " ms of silence and a timeout of ", options.timeout.count(),
        " ms - expected 1 ms or more - set longer ones.");
  return std::make_shared<ElasticWorkers>(cluster, options);
}

}  // namespace etude
