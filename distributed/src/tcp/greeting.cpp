#include "tcp/greeting.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include <unistd.h>

#include <ronde/core/machine.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {
namespace {

constexpr const char* kGreeting = "ronde-2";
constexpr const char* kToken = "=";  // before a token, so that an empty one is a word too

struct Word {
  Answer::Kind kind;
  std::string_view text;
};
constexpr std::array kAnswers{
    Word{Answer::Kind::loopback, "go loopback"},
    Word{Answer::Kind::network, "go network "},
    Word{Answer::Kind::refused, "no "},
    Word{Answer::Kind::wrong_token, "wrong token"},
};

}  // namespace

std::string token_word(const std::string& token) {
  return kToken + hex_digits(token);
}

std::string Hello::text() const {
  return cat(kGreeting, ' ', token, ' ', rank, ' ', size, ' ', host);
}

bool Hello::parse(const std::string& text, Hello& hello) {
  std::istringstream words(text);
  std::string greeting;
  return static_cast<bool>(words >> greeting >> hello.token >> hello.rank >> hello.size >> hello.host) &&
         greeting == kGreeting;
}

std::string Answer::pack() const {
  const auto word =
      std::find_if(kAnswers.begin(), kAnswers.end(), [&](const Word& one) { return one.kind == kind; });
  return cat(word->text, text);
}

Answer Answer::unpack(const std::string& packed) {
  for (const Word& word : kAnswers)
    if (packed.starts_with(word.text)) return {word.kind, packed.substr(word.text.size())};
  return {};
}

std::string RankTable::pack() const {
  std::string text = cat(token, '\n');
  for (std::size_t r = 0; r < addresses.size(); ++r) text += cat(addresses[r], ' ', hosts[r], '\n');
  return text;
}

RankTable RankTable::unpack(const std::string& packed) {
  std::istringstream words(packed);
  RankTable table;
  words >> table.token;
  std::string address, host;
  while (words >> address >> host) {
    table.addresses.push_back(parse_address(address));
    table.hosts.push_back(host);
  }
  return table;
}

std::string host_id() {
  char network[64] = "";
  if (readlink("/proc/self/ns/net", network, sizeof network - 1) < 0) network[0] = '\0';
  std::string id = cat(host_name(), '/', first_line("/proc/sys/kernel/random/boot_id"), '/', network);
  std::replace(id.begin(), id.end(), ' ', '_');
  return id;
}

}  // namespace ronde::inline v0
