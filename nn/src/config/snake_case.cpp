#include "config/snake_case.h"

#include <ronde/core/text.h>

namespace ronde::inline v0 {

namespace {

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string snake_case(std::string_view class_name) {
  std::string result;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const char next = i + 1 < class_name.size() ? class_name[i + 1] : '\0';
    if (i > 0 && is_upper(class_name[i]) && (is_lower(class_name[i - 1]) || is_lower(next) || is_digit(next)))
      result += '_';
    result += class_name[i];
  }
  return lower_case(result);
}

}  // namespace ronde::inline v0
