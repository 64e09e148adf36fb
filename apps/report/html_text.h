/// Text for HTML and SVG: escapes, numbers and data URIs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ronde::apps {

/// Safe between tags and in quoted attributes, in HTML and in XML: & < > " ' become entities, control
/// characters spaces, and bytes that are not UTF-8 the replacement character.
std::string escaped(std::string_view text);

/// "data:image/png;base64,..."
std::string png_uri(std::string_view png);
std::string base64(std::string_view bytes);
/// The inverse; an InputError for anything else.
std::string from_base64(std::string_view text);

/// With so many digits behind the point: fixed(0.5, 2) is "0.50". "-" for what is not finite.
std::string fixed(double value, int digits);
/// Of a finite number: rounded to "3,120", or "1e+20" where no integer holds it.
std::string whole(double value);
/// Without trailing zeros and with at most so many digits that count: "0.0001", "1e-05", "3,120", "-" for
/// what is not finite.
std::string brief(double value, int digits = 4);
/// 0.7412 -> "74.12 %", with a space that no line is broken at
std::string percent(double share, int digits = 2);
/// "0.8 s", "48 s", "12 min 4 s", "3 h 20 min", with spaces that no line is broken at
std::string duration(double seconds);
/// 250123456 -> "250 MB"
std::string bytes_text(std::int64_t bytes);

}  // namespace ronde::apps
