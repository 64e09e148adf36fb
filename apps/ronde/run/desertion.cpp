#include "ronde/run/desertion.h"

#include <algorithm>

namespace ronde::apps {

bool Desertion::add(const std::vector<std::string>& commands, const std::string& program, double now) {
  constexpr double kPatience = 10.0, kPause = 1.0;
  next_look_ = now + kPause;
  had_ranks_ = had_ranks_ || std::any_of(commands.begin(), commands.end(), [&](const std::string& command) {
                 return command.find(program) != std::string::npos;
               });
  if (!had_ranks_ || !commands.empty()) last_seen_ = now;
  return now - last_seen_ > kPatience;
}

}  // namespace ronde::apps
