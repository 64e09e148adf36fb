#include <ronde/core/text.h>

#include <cstdio>

namespace ronde::inline v0 {

TextPiece::TextPiece(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.9g", value);
  owned_ = buffer;
}

std::string concatenate(std::initializer_list<TextPiece> pieces) {
  std::string text;
  for (const TextPiece& piece : pieces) text += piece.view();
  return text;
}

}  // namespace ronde::inline v0
