#include "coordinator/messages.hpp"

#include <cstring>

#include "etude/training/coordinator.hpp"

namespace etude::coordinator {
namespace {

void check_valid(bool valid, const char* what) {
  check(valid, ErrorKind::data, "coordinator", "a message with an invalid ", what,
        " - expected one of this version - run the same program in all processes.");
}

/// The elements of an array of these extents, at most `limit`; -1 for more, and for extents below zero.
std::int64_t elements(const Shape& shape, std::int64_t limit) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || (extent > 0 && count > limit / extent)) return -1;
    count *= extent;
  }
  return count;
}

}  // namespace

void write(schema::Tensor::Builder to, const Tensor& tensor) {
  check(tensor.bytes() <= tensor_limit, ErrorKind::value, "coordinator", "a tensor of ", tensor.bytes(),
        " bytes - expected at most ", tensor_limit, " - divide the variable by a partitioner.");
  to.setDtype(static_cast<std::uint8_t>(tensor.dtype()));
  auto shape = to.initShape(static_cast<capnp::uint>(tensor.shape().rank()));
  for (capnp::uint axis = 0; axis < shape.size(); ++axis) shape.set(axis, tensor.shape()[axis]);
  to.setData({reinterpret_cast<const capnp::byte*>(tensor.raw()), tensor.bytes()});
}

Tensor read(schema::Tensor::Reader from) {
  check_valid(from.getDtype() <= static_cast<std::uint8_t>(DType::bfloat16), "dtype");
  check_valid(from.getShape().size() <= Shape::max_rank, "shape");
  Shape shape;
  for (const std::int64_t extent : from.getShape()) shape.append(extent);
  const auto dtype = static_cast<DType>(from.getDtype());
  const auto data = from.getData();
  const std::int64_t count = elements(shape, static_cast<std::int64_t>(tensor_limit));
  check_valid(count >= 0 && static_cast<std::size_t>(count) * size_of(dtype) == data.size(), "size");
  Tensor tensor = Tensor::uninitialized(shape, dtype);
  if (data.size() > 0) std::memcpy(tensor.raw(), data.begin(), data.size());
  return tensor;
}

void write(capnp::List<schema::Tensor>::Builder to, const std::vector<Tensor>& tensors) {
  for (capnp::uint i = 0; i < to.size(); ++i) write(to[i], tensors[i]);
}

std::vector<Tensor> read(capnp::List<schema::Tensor>::Reader from) {
  std::vector<Tensor> tensors;
  for (const auto& each : from) tensors.push_back(read(each));
  return tensors;
}

void write(capnp::List<schema::Named>::Builder to, const std::vector<std::pair<std::string, Tensor>>& tensors) {
  for (capnp::uint i = 0; i < to.size(); ++i) {
    to[i].setName(tensors[i].first);
    write(to[i].initTensor(), tensors[i].second);
  }
}

std::vector<std::pair<std::string, Tensor>> read(capnp::List<schema::Named>::Reader from) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const auto& each : from) tensors.emplace_back(each.getName().cStr(), read(each.getTensor()));
  return tensors;
}

void write(schema::Failure::Builder to, const Failed& failed) {
  to.setKind(static_cast<std::uint8_t>(failed.kind));
  to.setText(failed.text);
  to.setServer(failed.server);
}

Failed read(schema::Failure::Reader from) {
  check_valid(from.getKind() <= static_cast<std::uint8_t>(ErrorKind::internal), "kind of error");
  return {static_cast<ErrorKind>(from.getKind()), from.getText().cStr(), from.getServer()};
}

Failed current_failure() {
  try {
    throw;
  } catch (const UnavailableError& error) {
    return {error.kind(), error.what(), error.task() == "ps" ? error.index() : -1};
  } catch (const Error& error) {
    return {error.kind(), error.what()};
  } catch (const kj::Exception& error) {  // not a std::exception
    return {ErrorKind::state, std::string("[coordinator] ") + error.getDescription().cStr()};
  } catch (const std::exception& error) {
    return {ErrorKind::state, error.what()};
  } catch (...) {
    return {ErrorKind::state, "[coordinator] an exception of an unknown type."};
  }
}

void rethrow(const Failed& failed) {
  if (failed.server >= 0) throw UnavailableError("ps", failed.server, "a worker lost it");
  throw Error(failed.kind, failed.text);
}

std::uint64_t words_of(const std::vector<Tensor>& tensors) {
  std::uint64_t words = 64;
  for (const Tensor& tensor : tensors) words += tensor.bytes() / 8 + 32;
  return words;
}

std::uint64_t words_of(const std::vector<std::pair<std::string, Tensor>>& tensors) {
  std::uint64_t words = 64;
  for (const auto& [name, tensor] : tensors) words += (tensor.bytes() + name.size()) / 8 + 32;
  return words;
}

}  // namespace etude::coordinator
