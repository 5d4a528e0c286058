#include "reliability/crash_vfs.hpp"

#include <algorithm>
#include <functional>

#include "etude/graph/detail/node.hpp"

namespace etude::testing {
namespace {

using Kind = DiskOperation::Kind;
constexpr std::size_t sector = 512;

std::string name_of(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

void write(std::string& file, const DiskOperation& write, std::string_view bytes) {
  if (file.size() < write.offset + bytes.size()) file.resize(write.offset + bytes.size());
  file.replace(write.offset, bytes.size(), bytes);
}

/// The part of a write that the disk has completed: whole sectors, those of `has`.
void write_torn(std::string& file, const DiskOperation& operation, const std::function<bool()>& has) {
  for (std::size_t at = 0; at < operation.bytes.size();) {
    // Sectors are counted in the file.
    const std::size_t end = std::min(operation.bytes.size(), at + sector - (operation.offset + at) % sector);
    if (has()) {
      DiskOperation part = operation;
      part.offset += at;
      write(file, part, std::string_view(operation.bytes).substr(at, end - at));
    }
    at = end;
  }
}

void apply(Disk& disk, const DiskOperation& operation) {
  Disk::Node& node = disk.nodes[operation.node];
  switch (operation.kind) {
    case Kind::name:
      disk.nodes[operation.target].folder = operation.folder;
      disk.nodes[operation.node].names[operation.name] = operation.target;
      break;
    case Kind::rename:
      if (const auto found = node.names.find(operation.name);
          found != node.names.end() && found->second == operation.target)
        node.names.erase(found);
      node.names[operation.to] = operation.target;
      break;
    case Kind::remove: node.names.erase(operation.name); break;
    case Kind::truncate: node.bytes.clear(); break;
    case Kind::write: write(node.bytes, operation, operation.bytes); break;
    case Kind::sync:
    case Kind::mark: break;
  }
}

}  // namespace

int Disk::find(const std::string& path) const {
  int node = 0;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    const auto& names = nodes.at(node).names;
    const auto found = names.find(part);
    if (found == names.end()) return -1;
    node = found->second;
  }
  return node;
}

std::shared_ptr<MemoryVfs> Disk::files() const {
  const auto result = std::make_shared<MemoryVfs>();
  const std::function<void(int, const std::string&)> copy = [&](int number, const std::string& path) {
    for (const auto& [name, target] : nodes.at(number).names) {
      const Node& node = nodes.at(target);
      const std::string below = path + '/' + name;
      if (node.folder) {
        result->make_folder(below);
        copy(target, below);
      } else {
        result->open(below, false)->append(node.bytes);
      }
    }
  };
  copy(0, "");
  return result;
}

class CrashVfs::File : public FileSink {
 public:
  File(CrashVfs& disk, int node, std::size_t size, std::unique_ptr<FileSink> file)
      : disk_(disk), node_(node), size_(size), file_(std::move(file)) {}
  bool empty() const override { return file_->empty(); }
  void append(std::string_view bytes) override {
    file_->append(bytes);
    disk_.record({.kind = Kind::write, .node = node_, .offset = size_, .bytes = std::string(bytes)});
    size_ += bytes.size();
  }
  void overwrite(std::uint64_t at, std::string_view bytes) override {
    file_->overwrite(at, bytes);
    const auto offset = static_cast<std::size_t>(at);
    disk_.record({.kind = Kind::write, .node = node_, .offset = offset, .bytes = std::string(bytes)});
  }
  void flush() override {}
  void sync() override { disk_.record({.kind = Kind::sync, .node = node_}); }

 private:
  CrashVfs& disk_;
  const int node_;
  std::size_t size_;
  const std::unique_ptr<FileSink> file_;
};

void CrashVfs::record(DiskOperation operation) {
  if (forgetful_ && operation.kind == Kind::sync) return;
  apply(disk_, operation);
  operations_.push_back(std::move(operation));
}

int CrashVfs::add_name(const std::string& path, bool folder) {
  record({.kind = Kind::name,
          .node = disk_.find(parent_of(path)),
          .target = ++last_node_,
          .folder = folder,
          .name = name_of(path)});
  return last_node_;
}

std::unique_ptr<FileSink> CrashVfs::open(const std::string& path, bool append) {
  auto file = MemoryVfs::open(path, append);
  int node = disk_.find(path);
  if (node < 0)
    node = add_name(path, false);
  else if (!append)
    record({.kind = Kind::truncate, .node = node});
  return std::make_unique<File>(*this, node, MemoryVfs::size(path), std::move(file));
}

void CrashVfs::sync_folder(const std::string& path) {
  MemoryVfs::sync_folder(path);
  record({.kind = Kind::sync, .node = disk_.find(path)});
}

void CrashVfs::rename(const std::string& from, const std::string& to) {
  MemoryVfs::rename(from, to);
  record({.kind = Kind::rename,
          .node = disk_.find(parent_of(from)),
          .target = disk_.find(from),
          .name = name_of(from),
          .to = name_of(to)});
}

void CrashVfs::remove(const std::string& path) {
  MemoryVfs::remove(path);
  record({.kind = Kind::remove, .node = disk_.find(parent_of(path)), .name = name_of(path)});
}

void CrashVfs::make_folder(const std::string& path) {
  const bool is_new = !exists(path);
  MemoryVfs::make_folder(path);
  if (is_new) add_name(path, true);
}

int CrashVfs::marked(std::size_t count) const {
  int reached = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (operations_[i].kind == Kind::mark) reached = operations_[i].target;
  return reached;
}

bool CrashVfs::lasts(std::size_t index, std::size_t count) const {
  for (std::size_t i = index + 1; i < count; ++i)
    if (operations_[i].kind == Kind::sync && operations_[i].node == operations_[index].node) return true;
  return false;
}

std::shared_ptr<MemoryVfs> CrashVfs::after(std::size_t count, PowerLoss loss, Random& random) const {
  Disk disk;
  for (std::size_t i = 0; i < count; ++i) {
    const DiskOperation& operation = operations_[i];
    const bool is_bytes = operation.kind == Kind::write || operation.kind == Kind::truncate;
    if (operation.kind == Kind::name) disk.nodes[operation.target].folder = operation.folder;
    if (loss == PowerLoss::none || lasts(i, count)) {
      apply(disk, operation);
      continue;
    }
    const std::uint32_t chance = random.below(3);
    if (is_bytes ? loss == PowerLoss::bytes_only
                 : loss == PowerLoss::names_only || loss == PowerLoss::zeros || loss == PowerLoss::torn) {
      apply(disk, operation);
    } else if (operation.kind == Kind::write && loss == PowerLoss::zeros) {
      DiskOperation zeros = operation;
      std::ranges::fill(zeros.bytes, '\0');
      apply(disk, zeros);
    } else if (operation.kind == Kind::write && (loss == PowerLoss::torn || (loss == PowerLoss::some && chance == 2))) {
      write_torn(disk.nodes[operation.node].bytes, operation, [&] { return random.below(2) == 0; });
    } else if (loss == PowerLoss::some && chance == 1) {
      apply(disk, operation);
    }
  }
  return disk.files();
}

}  // namespace etude::testing
