// Errors and warnings in JavaScript: all literals in core/ and bindings/, translated as at run time.
#include "../bindings/spelling.hpp"
#include "golden_path.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

std::string spelled(std::string_view literal) {
  std::string text;
  etude::js::spell(text, literal);
  return text;
}

/// A token of C++: a literal, with the literals that directly follow it; a character literal; a name; or one character.
struct Token {
  enum Kind { literal, character, name, other } kind;
  std::string text;
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The end of the literal that begins at `at`.
std::size_t end_of_literal(const std::string& source, std::size_t at) {
  std::size_t end = at + 1;
  while (source[end] != source[at]) end += source[end] == '\\' ? 2 : 1;
  return end + 1;
}

std::vector<Token> tokens_of(const std::string& source) {
  std::vector<Token> tokens;
  for (std::size_t at = 0, end = 0; at < source.size(); at = end) {
    end = at + 1;
    if (source.compare(at, 2, "//") == 0) {
      end = std::min(source.find('\n', at), source.size());
    } else if (source[at] == '"' || source[at] == '\'') {
      end = end_of_literal(source, at);
      const std::string text = std::regex_replace(source.substr(at + 1, end - at - 2), std::regex(R"(\\(.))"), "$1");
      const Token::Kind kind = source[at] == '"' ? Token::literal : Token::character;
      if (!tokens.empty() && kind == Token::literal && tokens.back().kind == kind)
        tokens.back().text += text;
      else
        tokens.push_back({kind, text});
    } else if (is_name(source[at])) {
      while (end < source.size() && (is_name(source[end]) || (source[end] == '\'' && is_name(source[end + 1])))) ++end;
      tokens.push_back({Token::name, source.substr(at, end - at)});
    } else if (!std::isspace(static_cast<unsigned char>(source[at]))) {
      tokens.push_back({Token::other, source.substr(at, 1)});
    }
  }
  return tokens;
}

/// A message, in JavaScript's spelling, without its non-literal parts.
struct Message {
  std::string where, text;
};

/// Functions that translate their literals.
const std::set<std::string> translating{"check", "fail", "throw_error", "spelled"};

/// All texts of a source that may be messages: those of such calls, and each other literal of several words.
std::vector<Message> messages_in(const std::string& path, const std::string& source) {
  const std::vector<Token> tokens = tokens_of(source);
  std::vector<Message> result;
  std::vector<bool> calls;  // by open parenthesis: whether it is that of such a call
  std::string said;
  const auto is = [&](std::size_t i, std::string_view text) { return i < tokens.size() && tokens[i].text == text; };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (is(i, "#")) ++i;  // #include "…"
    const bool within = std::ranges::find(calls, true) != calls.end();
    if (is(i, "ErrorKind")) {
      said.clear();  // the part before is the condition
    } else if (tokens[i].kind == Token::character && within) {
      said += tokens[i].text;
    } else if (tokens[i].kind == Token::literal) {
      // A concatenated string is not a literal any more.
      const bool is_string = is(i + 1, "+") || (i > 0 && is(i - 1, "+")) || (i > 1 && is(i - 2, "string"));
      const bool of_option = i > 1 && is(i - 1, "(") && is(i - 2, ">");
      const bool of_class = i > 3 && (is(i - 4, "about") || (is(i - 1, "=") && is(i - 2, "text") && is(i - 3, ".")));
      const bool of_config = i > 2 && is(i - 1, "=") && (is(i - 2, "aliases") || is(i - 2, "example"));
      if (of_option || of_class)  // the declarations translate the table of classes
        result.push_back({path, std::regex_replace(spelled(tokens[i].text), std::regex(R"(\] -> \[)"), "] to [")});
      else if (of_config)
        continue;
      else if (i > 4 && is(i - 5, "ErrorKind"))
        said += '[' + tokens[i].text + "] ";
      else if (within && !is_string)
        etude::js::spell(said, tokens[i].text);
      else if (tokens[i].text.find(' ') != std::string::npos && !(i > 0 && is(i - 1, "<")))
        result.push_back({path, (is(i - 1, "+") && tokens[i].text[0] == '"' ? "\"" : "") + tokens[i].text});
    } else if (tokens[i].kind == Token::other && is(i, "(")) {
      calls.push_back(i > 0 && translating.contains(tokens[i - 1].text));
    } else if (tokens[i].kind == Token::other && is(i, ")") && !calls.empty()) {
      calls.pop_back();
      if (std::ranges::find(calls, true) != calls.end() || said.empty()) continue;
      result.push_back({path, said});
      said.clear();
    }
  }
  return result;
}

/// Exceptions, with their reasons.
const std::vector<std::pair<std::string, std::string>> exceptions{
    {"load_model optimizer", "a place, which web/src/module.ts spells"},
    {"load_weights \"", "a place, which web/src/module.ts spells"},
    {"strategy->scope()", "JavaScript has no strategies"},
    {"strategy->serve()", "JavaScript has no strategies"},
    {"outside the strategy's scope", "JavaScript has no strategies"},
    {"set a larger input_dim", "Graph::expect hands it to check as a literal"},
    {"histogram_freq shows", "a lambda hands it to check as a literal"},
    {"set auto_shard_policy to", "JavaScript has no strategies"},
    {"Dataset with auto_shard_policy", "JavaScript has no strategies"},
    {"_bytes: %lf", "a line of Linux"},
    {"steps_per_epoch * epochs", "spelled where the warning is put together"},
    {"log_cosh", "a list of names"},
    {"log_softmax", "a list of names"},
    {"precision_at_recall", "a list of names"},
    {"fortran_order", "a key of .npy files"},
    {"make layers by from_json<Layer>()", "what JavaScript is advised instead stands beside it"},
    {"and call register_class first", "what JavaScript is advised instead stands beside it"},
    {"that is not NumPy's", "the format's inventor"},
    {"NumPy's .npy format", "the format's inventor"},
    {"NumPy's magic number", "the format's inventor"},
    {"a dtype of NumPy", "the format's inventor"},
    {" @", "a form of op_table.cpp: keys of Keras"},
};
const std::string for_native_users_alone = "core/etude/eigen.hpp";

std::vector<Message> all_messages() {
  namespace fs = std::filesystem;
  const fs::path root = etude::testing::golden_path("../..");
  std::vector<Message> result;
  for (const char* folder : {"core", "bindings"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string path = fs::relative(entry.path(), root).string();
      if (!path.ends_with("pp") || path == for_native_users_alone) continue;
      std::ifstream file(entry.path());
      const std::string source{std::istreambuf_iterator<char>(file), {}};
      for (Message& message : messages_in(path, source)) result.push_back(std::move(message));
    }
  return result;
}

/// The part of a message that is not JavaScript; empty if there is none. Names in quotes are not changed, and
/// web/src/module.ts spells the place of an error.
std::string foreign_in(const std::string& message) {
  static const std::regex quoted("\"[^\"]*\"|^\\[[^\\]]*\\]"),
      foreign(R"(\{\.|::|->|NumPy|nullptr|\b[a-z]+(_[a-z0-9]+)+\b|\b[a-z]+[A-Z]\w* ?= ?(true|false|-?\d))");
  const std::string said = std::regex_replace(message, quoted, "\"\"");
  std::smatch found;
  return std::regex_search(said, found, foreign) ? found.str() : "";
}

}  // namespace

TEST_CASE("spelling: options, namespaces and names have JavaScript's spelling", "[base][spelling]") {
  CHECK(spelled("call compile({.run_eagerly = true, .loss = …}).") == "call compile({ runEagerly: true, loss: … }).");
  CHECK(spelled("make one by layers::dense") == "make one by et.layers.dense");
  CHECK(spelled("`steps_per_epoch * epochs` batches") == "`stepsPerEpoch * epochs` batches");
  CHECK(spelled("the key \"compiled_trainable\" is_not") == "the key \"compiled_trainable\" isNot");
}

TEST_CASE("spelling: the test finds messages in a source, and names that JavaScript lacks", "[base][spelling]") {
  const auto foreign = [](const std::string& source) {
    std::string result;
    for (const Message& message : messages_in("", source)) result += foreign_in(message.text) + '|';
    return result;
  };
  CHECK(foreign(R"(check(ok(), kind, "a", b, "\"snake_case\" and other_case in {.x = 1}");)") == "|");
  CHECK(foreign(R"(print_warning({}, "use " "other_case " + name);)") == "other_case|");
  CHECK(foreign(R"(print_warning({}, spelled("use other_case"));)") == "|");
  CHECK(foreign(R"(check(ok, kind, std::string("use other_case"), "some layers::x");)") == "other_case||");
  CHECK(foreign(R"(fail(kind, "for NumPy arrays alone"); // "and a::b")") == "NumPy|");
  CHECK(foreign(R"(fail(kind, "set run_eagerly = true");)") == "runEagerly = true|");
  CHECK(foreign("const char* text = \"a::b, c\";") == "::|");
}

TEST_CASE("spelling: errors and warnings in JavaScript use no names of C++ or Python", "[base][spelling]") {
  const std::vector<Message> messages = all_messages();
  CHECK(messages.size() > 500);
  std::set<std::string> used;
  for (const auto& [where, text] : messages) {
    CAPTURE(where, text);
    const std::string foreign = foreign_in(text);
    if (foreign.empty()) continue;
    const auto excepted = std::ranges::find_if(
        exceptions, [&](const auto& exception) { return text.find(exception.first) != std::string::npos; });
    CHECK((excepted != exceptions.end() || foreign.empty()));
    if (excepted != exceptions.end()) used.insert(excepted->first);
  }
  for (const auto& [text, reason] : exceptions) {
    CAPTURE(text, reason);
    CHECK(used.contains(text));
  }
}
