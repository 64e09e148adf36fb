/// Cache lines that are asked for while something else is computed.
#pragma once

#include "backend/onednn/kernels/vector.h"

namespace ronde::inline v0 {
namespace {

/// The cache lines of a piece of a matrix that have not been asked for.
class Lines {
 public:
  Lines() = default;
  /// `pitch`: elements from one row to the next.
  template <class T>
  Lines(const T* from, std::int64_t pitch, std::int64_t rows, std::int64_t columns)
      : at_(reinterpret_cast<const char*>(from)),
        end_(at_ + columns * std::int64_t{sizeof(T)}),
        pitch_(pitch * std::int64_t{sizeof(T)}),
        rows_(rows),
        row_(columns * std::int64_t{sizeof(T)}) {}

  /// False when there are no more.
  [[gnu::always_inline]] inline bool fetch() {
    if (rows_ <= 0) return false;
    __builtin_prefetch(at_, 0, kSecondLevel);
    at_ += kLineBytes;
    if (at_ >= end_) {
      --rows_;
      end_ += pitch_;
      at_ = end_ - row_;
    }
    return true;
  }
  std::int64_t count() const { return rows_ * ((row_ + kLineBytes - 1) / kLineBytes); }

 private:
  static constexpr std::int64_t kLineBytes = 64;

  const char* at_ = nullptr;
  const char* end_ = nullptr;  // of the row
  std::int64_t pitch_ = 0, rows_ = 0, row_ = 0;
};

/// Asks for the n elements that a loop will write in a while: hardware expects what is read in a row, but a
/// store waits for its line.
[[gnu::always_inline]] inline void fetch_ahead(const float* to, std::int64_t n) {
  constexpr std::int64_t kAhead = 512;
  for (std::int64_t i = 0; i < n; i += kCacheLine) __builtin_prefetch(to + kAhead + i, 1);
}

/// What is copied next: its rows lie far apart, where no hardware expects them, and the copy would wait for
/// each. So the products before it ask for a line now and then; for many at once they would wait themselves.
struct NextPieces {
  Lines left, right;
  [[gnu::always_inline]] inline void fetch() {
    if (!left.fetch()) right.fetch();
  }
};

}  // namespace
}  // namespace ronde::inline v0
