#pragma once

#include <memory>
#include <string_view>

#include "etude/execution/device.hpp"

namespace etude {

class Strategy;
using StrategyPtr = std::shared_ptr<Strategy>;

/// Where a model's steps run. A model asks the strategy in whose scope it was made. Source: tf.distribute.Strategy.
class Strategy : public std::enable_shared_from_this<Strategy> {
 public:
  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;
  virtual int num_replicas_in_sync() const = 0;
  /// The device of one replica.
  virtual Device& device(int replica = 0) = 0;

  /// While it lives, get_strategy() on this thread gives this strategy.
  class Scope {
   public:
    explicit Scope(StrategyPtr strategy);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StrategyPtr outer_;
  };
  Scope scope() { return Scope(shared_from_this()); }
};

/// Everything on one device: the default one unless another is given, which must outlive the strategy.
class OneDeviceStrategy : public Strategy {
 public:
  OneDeviceStrategy() : OneDeviceStrategy(default_device()) {}
  explicit OneDeviceStrategy(Device& device) : device_(device) {}
  std::string_view name() const override { return "OneDeviceStrategy"; }
  int num_replicas_in_sync() const override { return 1; }
  Device& device(int) override { return device_; }

 private:
  Device& device_;
};

/// The strategy of the innermost scope, or OneDeviceStrategy outside all scopes.
StrategyPtr get_strategy();

}  // namespace etude
