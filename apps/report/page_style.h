/// The page's style sheet.
#pragma once

#include <string_view>

namespace ronde::apps {

std::string_view page_style();

}  // namespace ronde::apps
