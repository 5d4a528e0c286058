#pragma once

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace etude::testing {

/// Two hosts on this machine: network namespaces that a virtual cable connects. They need root, and iproute2.
class TwoHosts {
 public:
  TwoHosts() {
    const std::string cable = "link add cable netns " + name(0) + " type veth peer name cable netns " + name(1);
    connected_ = ip("netns add " + name(0)) && ip("netns add " + name(1)) && ip(cable);
    for (int host = 0; host < 2 && connected_; ++host)
      connected_ = ip("-n " + name(host) + " addr add " + address(host) + "/24 dev cable") &&
                   ip("-n " + name(host) + " link set cable up") && ip("-n " + name(host) + " link set lo up");
  }
  ~TwoHosts() {
    for (int host = 0; host < 2; ++host) ip("netns del " + name(host));
  }
  TwoHosts(const TwoHosts&) = delete;
  TwoHosts& operator=(const TwoHosts&) = delete;

  bool connected() const { return connected_; }
  static std::string address(int host) { return "10.99.0." + std::to_string(host + 1); }

  /// Moves this process, which has one thread, to a host.
  void enter(int host) const {
    const int file = ::open(("/run/netns/" + name(host)).c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = file >= 0 && ::setns(file, CLONE_NEWNET) == 0;
    if (file >= 0) ::close(file);
    if (!entered) throw std::runtime_error("the network namespace " + name(host) + " cannot be entered");
  }

  /// Makes the cable lose all packets without an error on either host: each host sends to a wrong hardware address.
  void cut() const {
    for (int host = 0; host < 2; ++host)
      if (!ip("-n " + name(host) + " neigh replace " + address(1 - host) +
              " lladdr 02:00:00:00:00:99 dev cable nud permanent"))
        throw std::runtime_error("the cable cannot be cut");
  }

 private:
  std::string name(int host) const { return "etude-" + std::to_string(test_) + (host == 0 ? "-a" : "-b"); }
  static bool ip(const std::string& words) { return std::system(("ip " + words + " > /dev/null 2>&1").c_str()) == 0; }

  pid_t test_ = ::getpid();
  bool connected_ = false;
};

}  // namespace etude::testing
