#pragma once

/// Options of callbacks that JavaScript provides: files, the network, a schedule.
#include "files.hpp"
#include "options.hpp"

namespace etude::js {

inline void check_function(const val& value, const Where& where, const char* expected) {
  if (type_of(value) != "function") where.wrong(value, expected, "pass one");
}

template <> struct Conversion<OpenFile> {
  static OpenFile from(const val& function, const Where& where) {
    check_function(function, where, "a function of a path that gives what can be appended to");
    return [function](const std::string& path, bool append) -> std::unique_ptr<FileSink> {
      return std::make_unique<JavaScriptFile>(call_host("asFile", call(function, val(path), val(append))));
    };
  }
  static std::string given() { return "((path: string, append: boolean) => FileSink)"; }
};

template <> struct Conversion<HttpHeaders> {
  static HttpHeaders from(const val& value, const Where& where) {
    if (type_of(value) != "object" || value.isNull()) where.wrong(value, "an object of texts", "pass one");
    HttpHeaders headers;
    for (const std::string& name : keys(value))
      headers.emplace_back(name, from_js<std::string>(value[name], where.of(where.what + '.' + name)));
    return headers;
  }
  static std::string given() { return "Readonly<Record<string, string>>"; }
};

template <> struct Conversion<HttpTransport> {
  static HttpTransport from(const val& function, const Where& where) {
    check_function(function, where, "a function of {url, headers, body} that posts it");
    return [function](const HttpPost& post) -> PendingPtr {
      val headers = val::object(), given = val::object();
      for (const auto& [name, value] : post.headers) headers.set(name, value);
      given.set("url", post.url);
      given.set("headers", headers);
      given.set("body", post.body);
      const val result = call(function, given);
      if (is_promise(result)) return std::make_unique<PromisePending>(result);
      return nullptr;
    };
  }
  static std::string given() { return "((post: HttpPost) => unknown)"; }
};

template <> struct Conversion<EpochSchedule> {
  static EpochSchedule from(const val& function, const Where& where) {
    check_function(function, where, "a function of the epoch and the learning rate");
    return [function](int epoch, double learning_rate) {
      const val result = call(function, to_js(epoch), to_js(learning_rate));
      return from_js<double>(result, {"LearningRateScheduler", "the result of schedule"});
    };
  }
  static std::string given() { return "((epoch: number, learningRate: number) => number)"; }
};

template <> struct Conversion<UpdateFrequency> {
  static UpdateFrequency from(const val& value, const Where& where) {
    return value.isString() ? UpdateFrequency(value.as<std::string>().c_str())
                            : UpdateFrequency(from_js<int>(value, where));
  }
  static std::string given() { return "number | 'batch' | 'epoch'"; }
};

template <> struct Conversion<SaveFrequency> {
  static SaveFrequency from(const val& value, const Where& where) {
    return value.isString() ? SaveFrequency(value.as<std::string>().c_str())
                            : SaveFrequency(from_js<std::int64_t>(value, where));
  }
  static std::string given() { return "number | 'epoch'"; }
};

}  // namespace etude::js
