/// Text from pieces: `cat("expects ", 3, " channels, got ", shape)`.
///
/// A light stand-in for streams, so that no public header needs <sstream>. Every type with a
/// `std::string to_string(const T&)` found by argument-dependent lookup is a piece too.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <ronde/core/export.h>

namespace ronde::inline v0 {

/// One piece of a message. Views what it is made from: use it only as a function argument. Text is made of it
/// in the library, so that the many places that have a message for a rare error stay small.
class RONDE_API TextPiece {
 public:
  TextPiece(const char* text) : value_(text) {}
  TextPiece(std::string_view text) : value_(text) {}
  TextPiece(const std::string& text) : value_(std::string_view(text)) {}
  TextPiece(char c) : value_(c) {}
  TextPiece(bool value) : value_(value ? "true" : "false") {}
  template <std::signed_integral T>
  TextPiece(T value) : value_(static_cast<long long>(value)) {}
  template <std::unsigned_integral T>
  TextPiece(T value) : value_(static_cast<unsigned long long>(value)) {}
  TextPiece(double value) : value_(value) {}
  template <class T>
  requires requires(const T& value) {
    { to_string(value) } -> std::same_as<std::string>;
  }
  TextPiece(const T& value)
      : value_(Object{&value, [](const void* object) { return to_string(*static_cast<const T*>(object)); }}) {
  }

  void append_to(std::string& text) const;

 private:
  struct Object {
    const void* object;
    std::string (*text_of)(const void*);
  };

  std::variant<const char*, std::string_view, char, long long, unsigned long long, double, Object> value_;
};

RONDE_API std::string concatenate(std::initializer_list<TextPiece> pieces);

/// What printf makes of a number by one such format as "%.5f", with a decimal point whatever locale the
/// process has chosen; of what is no number "nan", whatever its sign.
RONDE_API std::string formatted(const char* format, double value);

/// The parts between separators, empty ones too: "a,,b" -> "a", "", "b".
RONDE_API std::vector<std::string> split(std::string_view text, char separator);

/// The parts with separators between them: "a", "b" -> "a, b".
RONDE_API std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");

/// With small letters for A to Z, whatever locale the process has chosen.
RONDE_API std::string lower_case(std::string_view text);

/// Two lower-case digits for each byte.
RONDE_API std::string hex_digits(std::string_view bytes);

/// All pieces, one after the other.
template <class... Pieces>
std::string cat(const Pieces&... pieces) {
  return concatenate({TextPiece(pieces)...});
}

}  // namespace ronde::inline v0
