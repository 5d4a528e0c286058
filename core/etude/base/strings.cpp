#include "etude/base/strings.hpp"

#include "etude/base/error.hpp"

namespace etude {

Strings::Strings(const Shape& shape, std::vector<std::string> texts) : shape_(shape), texts_(std::move(texts)) {
  check(shape_.size() == size(), ErrorKind::shape, "Strings", size(), " strings for the shape ", shape_, " - expected ",
        shape_.size(), " - pass as many as the shape has elements.");
}

}  // namespace etude
