/// Text of two columns, such as options and what they mean, for a window that may be narrow.
#pragma once

#include <cstddef>
#include <string>

namespace ronde::apps {

/// What is too wide is broken at blanks and goes on below its column:
///
///     --seed N   of weights, order          --seed N   of weights,
///                and dropout                           order and
///                                                      dropout
///
/// So it is with paragraphs that begin at the left; what else is indented is an example, a line of its own.
std::string fitted(const std::string& text, std::size_t columns);

/// Fitted to the terminal that standard output ends in; elsewhere, as in a log, as it is.
std::string for_terminal(const std::string& text);

}  // namespace ronde::apps
