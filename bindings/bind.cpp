#include "bind.hpp"
#include "symbolic.hpp"

#include <emscripten.h>

#include <algorithm>
#include <map>

namespace etude::js {
namespace {

/// The call that was entered last.
std::string place;

}  // namespace

/// web/src/parts.ts calls it in place of a function whose part is not loaded. It throws a C++ exception: C++ frames do
/// not catch those of JavaScript, so that a coroutine would stay suspended.
extern "C" EMSCRIPTEN_KEEPALIVE void etude_part_missing() { throw Thrown{host("missingPart")(place)}; }

Header::Header(std::string_view text) {
  const std::size_t open = text.find('(');
  name_ = text.substr(0, open);
  if (open == text.npos) {
    // A property: its argument has its name.
    arguments_ = {name_.substr(name_.rfind('.') + 1)};
    optional_ = {false};
    property_ = true;
    return;
  }
  for (std::string_view rest = text.substr(open + 1, text.size() - open - 2); !rest.empty();) {
    std::string_view argument = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(argument.size() + 2, rest.size()));  // ", "
    optional_.push_back(argument.ends_with('?'));
    if (optional_.back()) argument.remove_suffix(1);
    arguments_.push_back(camel_case(argument));
  }
}

const Header& Header::of(const char* text) {
  static std::map<const char*, Header> known;
  const auto found = known.find(text);
  return found != known.end() ? found->second : known.emplace(text, Header(text)).first->second;
}

std::string Header::javascript(bool of_class) const {
  std::string name = camel_case(name_);
  const std::size_t dot = name.find('.');
  if (of_class)
    name = name.substr(dot + 1);
  else if (dot != name.npos)
    name[dot] = '_';
  if (property_) return name;
  name += '(';
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    name += (i ? ", " : "") + arguments_[i] + (optional_[i] ? "?" : "");
  return name + ')';
}

Call::Call(const char* text, void* self, std::span<const val* const> given)
    : header_(Header::of(text)), self_(self), given_(given) {
  // The last one, because the first one of `where` is a condition.
  for (auto value = given_.rbegin(); value != given_.rend() && !like_; ++value)
    if (Conversion<Value>::is(**value)) like_ = from_js<Value>(**value, {"Value", ""});
}

const val& Call::passed(std::size_t index) const {
  if (given_[index]->isUndefined()) where(index).wrong(*given_[index], "an argument", "pass one");
  return *given_[index];
}

bool Call::is_left_out(std::size_t index) const {
  return header_.optional(index) ? given_[index]->isUndefined() : (passed(index), false);
}

void set_place(std::string_view name) { place = name; }

val make_call(Work work, const char* text, void* self, std::span<const val* const> given) {
  return guarded([&] {
    if (is_symbolic(text, given)) return add_op(work, text, given);
    const Call call(text, self, given);
    set_place(call.name());
    return work(call);
  });
}

}  // namespace etude::js
