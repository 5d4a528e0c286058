#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "etude/base/tensor.hpp"
#include "etude/data/batch.hpp"
#include "task.capnp.h"

/// How data of Étude is written into messages of Cap'n Proto, and read from them.
namespace etude::coordinator {

/// The most bytes of a tensor in a message: a blob of Cap'n Proto has less than 512 MiB.
constexpr std::size_t tensor_limit = (std::size_t{1} << 29) - 64;

/// A call that failed in another process.
struct Failed {
  ErrorKind kind = ErrorKind::state;
  std::string text;
  int server = -1;  ///< the parameter server that was unavailable
};

void write(schema::Tensor::Builder to, const Tensor& tensor);
/// Throws Error(data) for an invalid message.
Tensor read(schema::Tensor::Reader from);
void write(capnp::List<schema::Tensor>::Builder to, const std::vector<Tensor>& tensors);
std::vector<Tensor> read(capnp::List<schema::Tensor>::Reader from);
void write(capnp::List<schema::Named>::Builder to, const std::vector<std::pair<std::string, Tensor>>& tensors);
std::vector<std::pair<std::string, Tensor>> read(capnp::List<schema::Named>::Reader from);
void write(schema::Failure::Builder to, const Failed& failed);
Failed read(schema::Failure::Reader from);

/// The kind of the exception that is being handled, for the process that called.
Failed current_failure();
/// Throws the error of a failed call: UnavailableError or Error.
[[noreturn]] void rethrow(const Failed& failed);

/// The 64-bit words of a message with these tensors, so that it is allocated at once.
std::uint64_t words_of(const std::vector<Tensor>& tensors);
std::uint64_t words_of(const std::vector<std::pair<std::string, Tensor>>& tensors);

}  // namespace etude::coordinator
