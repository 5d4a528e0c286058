#include "host_cublas_lt.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace etude::testing::host_cublas_lt {
namespace {

using cuda::CublasLt;

struct Attributes {
  std::map<int, std::vector<std::byte>> set;
  template <class T> T value(int attribute, T otherwise) const {
    const auto found = set.find(attribute);
    if (found == set.end()) return otherwise;
    REQUIRE(found->second.size() == sizeof(T));
    std::memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
  }
};
int keep(Attributes& attributes, int attribute, const void* value, std::size_t bytes) {
  const auto* first = static_cast<const std::byte*>(value);
  attributes.set[attribute].assign(first, first + bytes);
  return 0;
}

struct Described : Attributes {
  int compute = 0, scale = 0;
};
struct Laid : Attributes {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t distance = 0;
};

Library fake;
std::set<void*> objects;

template <class Of, class Pointer> Of& as(Pointer pointer) {
  REQUIRE(objects.contains(pointer));
  return *reinterpret_cast<Of*>(pointer);
}
template <class Of, class Pointer> int made(Pointer* pointer, Of* object) {
  *pointer = reinterpret_cast<Pointer>(object);
  objects.insert(object);
  return 0;
}
template <class Of, class Pointer> int destroyed(Pointer pointer) {
  delete &as<Of>(pointer);
  objects.erase(pointer);
  return 0;
}

/// Null for a function that the library lacks.
const Algorithm* algorithm_of(const CublasLt::Algorithm& algorithm) {
  const auto found = std::ranges::find(fake.algorithms, algorithm.data[0], &Algorithm::number);
  return found == fake.algorithms.end() ? nullptr : &*found;
}

/// By columns: element (row, column) of op(matrix).
template <class T> double element(const void* data, const Laid& layout, bool transposed, std::int64_t matrix,
                                  std::int64_t row, std::int64_t column) {
  if (transposed) std::swap(row, column);
  if (row >= static_cast<std::int64_t>(layout.rows) || column >= static_cast<std::int64_t>(layout.columns))
    FAIL("an element outside of the matrix");
  return static_cast<double>(
      static_cast<const T*>(data)[matrix * layout.value(6, std::int64_t{0}) + column * layout.distance + row]);
}

const CublasLt::Functions on_host{
    .create = [](CublasLt::Handle* handle) { return made(handle, new Attributes); },
    .destroy = [](CublasLt::Handle handle) { return destroyed<Attributes>(handle); },
    .create_description =
        [](CublasLt::Description* description, int compute, int scale) {
          auto* described = new Described;
          described->compute = compute;
          described->scale = scale;
          return made(description, described);
        },
    .destroy_description = [](CublasLt::Description description) { return destroyed<Described>(description); },
    .set_of_description = [](CublasLt::Description description, int attribute, const void* value,
                             std::size_t bytes) { return keep(as<Described>(description), attribute, value, bytes); },
    .create_layout =
        [](CublasLt::Layout* layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t distance) {
          REQUIRE(distance >= static_cast<std::int64_t>(rows));
          auto* laid = new Laid;
          laid->type = type;
          laid->rows = rows;
          laid->columns = columns;
          laid->distance = distance;
          return made(layout, laid);
        },
    .destroy_layout = [](CublasLt::Layout layout) { return destroyed<Laid>(layout); },
    .set_of_layout = [](CublasLt::Layout layout, int attribute, const void* value,
                        std::size_t bytes) { return keep(as<Laid>(layout), attribute, value, bytes); },
    .create_preference = [](CublasLt::Preference* preference) { return made(preference, new Attributes); },
    .destroy_preference = [](CublasLt::Preference preference) { return destroyed<Attributes>(preference); },
    .set_of_preference = [](CublasLt::Preference preference, int attribute, const void* value,
                            std::size_t bytes) { return keep(as<Attributes>(preference), attribute, value, bytes); },
    .find =
        [](CublasLt::Handle, CublasLt::Description, CublasLt::Layout, CublasLt::Layout, CublasLt::Layout,
           CublasLt::Layout, CublasLt::Preference preference, int wanted, CublasLt::Found* found, int* count) {
          ++fake.asked;
          const Attributes& wish = as<Attributes>(preference);
          CHECK(wish.value(1, std::uint64_t{0}) == CublasLt::workspace_bytes - 256);
          CHECK(wish.value(3, std::uint32_t{7}) == 2);  // partial sums in float32 too
          for (int of : {5, 6, 7, 8}) CHECK(16 % wish.value(of, std::uint32_t{256}) == 0);
          *count = fake.knows ? std::min(wanted, static_cast<int>(fake.algorithms.size())) : 0;
          for (int i = 0; i < *count; ++i)
            found[i].algorithm.data[0] = fake.algorithms[static_cast<std::size_t>(i)].number;
          return fake.knows ? 0 : 15;
        },
    .check =
        [](CublasLt::Handle, CublasLt::Description description, CublasLt::Layout a, CublasLt::Layout b,
           CublasLt::Layout c, CublasLt::Layout d, const CublasLt::Algorithm* algorithm, CublasLt::Found* found) {
          as<Described>(description);
          for (const CublasLt::Layout layout : {a, b, c, d}) as<Laid>(layout);
          const Algorithm* known = algorithm_of(*algorithm);
          found->workspace_bytes = 4096;
          return known && known->accepted ? 0 : 15;
        },
    .multiply =
        [](CublasLt::Handle, CublasLt::Description description, const void* alpha, const void* a,
           CublasLt::Layout a_layout, const void* b, CublasLt::Layout b_layout, const void* beta, const void* c,
           CublasLt::Layout c_layout, void* d, CublasLt::Layout d_layout, const CublasLt::Algorithm* algorithm,
           void* workspace, std::size_t workspace_bytes, CUstream_st* stream) {
          const Described of = as<Described>(description);
          const Laid la = as<Laid>(a_layout), lb = as<Laid>(b_layout), ld = as<Laid>(d_layout);
          const Algorithm* const known = algorithm_of(*algorithm);
          REQUIRE(known);
          if (known->status != 0) return known->status;
          fake.multiplied.push_back(known->number);
          fake.milliseconds += known->milliseconds;
          CHECK(reinterpret_cast<std::uintptr_t>(workspace) % 256 == 0);
          CHECK(workspace_bytes == CublasLt::workspace_bytes - 256);
          CHECK(c == d);
          CHECK(c_layout == d_layout);
          const bool ta = of.value(3, std::int32_t{0}) == 1, tb = of.value(4, std::int32_t{0}) == 1;
          const auto epilogue = of.value(7, std::uint32_t{1});
          const void* const bias = of.value(8, static_cast<const void*>(nullptr));
          CHECK(epilogue == (bias ? 4 : 1));
          const std::uint64_t depth = ta ? la.rows : la.columns;
          CHECK(depth == (tb ? lb.columns : lb.rows));
          const auto go = [&]<class T, class Scale>(T, Scale) {
            CHECK(*static_cast<const Scale*>(alpha) == 1);
            CHECK(*static_cast<const Scale*>(beta) == 0);
            const auto work = [=] {
              constexpr std::size_t margin = 65536;  // NaN where anything else was
              std::memset(workspace, 0xff, margin);
              std::memset(static_cast<std::byte*>(workspace) + workspace_bytes - margin, 0xff, margin);
              for (std::int64_t matrix = 0; matrix < ld.value(5, std::int32_t{1}); ++matrix)
                for (std::int64_t row = 0; row < static_cast<std::int64_t>(ld.rows); ++row)
                  for (std::int64_t column = 0; column < static_cast<std::int64_t>(ld.columns); ++column) {
                    double sum = bias ? static_cast<double>(static_cast<const T*>(bias)[row]) : 0;
                    for (std::int64_t i = 0; i < static_cast<std::int64_t>(depth); ++i)
                      sum += element<T>(a, la, ta, matrix, row, i) * element<T>(b, lb, tb, matrix, i, column);
                    static_cast<T*>(d)[matrix * ld.value(6, std::int64_t{0}) + column * ld.distance + row] =
                        static_cast<T>(sum);
                  }
            };
            if (!stream) return work(), 0;
            int status = fake.queue(stream, work);
            for (int more = 1; status == 0 && more < known->milliseconds; ++more) status = fake.queue(stream, [] {});
            return status;
          };
          CHECK(la.type == ld.type);
          CHECK(lb.type == ld.type);
          if (ld.type == 0 && (of.compute == 68 || of.compute == 77) && of.scale == 0) return go(float{}, float{});
          if (ld.type == 1 && of.compute == 70 && of.scale == 1) return go(double{}, double{});
          if (ld.type == 2 && of.compute == 68 && of.scale == 0) return go(Float16{}, float{});
          if (ld.type == 14 && of.compute == 68 && of.scale == 0) return go(BFloat16{}, float{});
          return 7;
        },
    .version = [] { return std::size_t{130000}; }};

}  // namespace

const CublasLt::Functions& functions() { return on_host; }
Library& library() { return fake; }
std::size_t alive() { return objects.size(); }

}  // namespace etude::testing::host_cublas_lt
