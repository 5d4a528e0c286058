#pragma once

/// Data that JavaScript provides: iterators, arrays and sequences, and functions that datasets call.
#include "conversion.hpp"

namespace etude::js {

/// Awaits the result of a call.
Task<val> settled(val result);

/// The items of a JavaScript iterator, possibly asynchronous: web's BatchIterator or a similar class, whose `next`
/// returns null at the end.
class JavaScriptIterator {
 public:
  explicit JavaScriptIterator(val iterator) : iterator_(std::move(iterator)) {}
  ~JavaScriptIterator() { host("attempt")(iterator_["close"]); }
  JavaScriptIterator(const JavaScriptIterator&) = delete;
  JavaScriptIterator& operator=(const JavaScriptIterator&) = delete;

  PendingPtr fetch();
  val consume();

 private:
  val iterator_;
  std::shared_ptr<Settlement> next_;
};

/// Batches, or elements, of such an iterator.
class JavaScriptSource : public BatchSource {
 public:
  explicit JavaScriptSource(const val& iterator) : batches_(iterator) {}
  PendingPtr fetch() override { return batches_.fetch(); }
  std::optional<Batch> consume() override;

 private:
  JavaScriptIterator batches_;
};

template <> struct Conversion<ArrayLikePtr> {
  /// The result of web's asArrayLike: shape, dtype, and slice(first, last), whose result may be a promise.
  static ArrayLikePtr from(const val& value, const Where& where);
  static std::string given() { return "ArrayLike"; }
};
template <> struct Conversion<SequencePtr> {
  static SequencePtr from(const val& value, const Where& where);
  static std::string given() { return "SequenceLike"; }
};
/// A result of web's asColumn, distinguished by its `form`.
template <> struct Conversion<Column> {
  static Column from(const val& value, const Where& where);
  static std::string given() { return "unknown"; }
};
/// The result of web's `group`.
template <> struct Conversion<ColumnGroup> {
  static ColumnGroup from(const val& value, const Where& where);
  static std::string given() { return "unknown"; }
};

template <> struct Conversion<Dataset> {
  static Dataset from(const val& value, const Where& where);
  static val to(const Dataset& dataset) { return val(std::make_shared<Dataset>(dataset)); }
  static std::string given() { return "Dataset"; }
  static std::string made() { return "Dataset"; }
};

// Functions of an element, which may return promises.
template <> struct Conversion<Dataset::AsyncMap> {
  static Dataset::AsyncMap from(const val& function, const Where& where);
  static std::string given() { return "((element: DatasetElement) => BatchLike | Promise<BatchLike>)"; }
};
template <> struct Conversion<Dataset::AsyncPredicate> {
  static Dataset::AsyncPredicate from(const val& function, const Where& where);
  static std::string given() { return "((element: DatasetElement) => boolean | Promise<boolean>)"; }
};
template <> struct Conversion<Dataset::AsyncExpand> {
  static Dataset::AsyncExpand from(const val& function, const Where& where);
  static std::string given() { return "((element: DatasetElement) => Dataset | Promise<Dataset>)"; }
};

}  // namespace etude::js
