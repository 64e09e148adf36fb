/// What the ranks say to each other while they gather: who one is, and what rank 0 answers.
#pragma once

#include <string>
#include <vector>

#include "tcp/socket.h"

namespace ronde::inline v0 {

/// Seconds for one message of a rank that is there, so that a stranger who begins one does not hold up the
/// others for long, and for an answer that is on its way.
inline constexpr double kMessagePatience = 5.0;

/// The first words of a rank to rank 0.
struct Hello {
  std::string token = {};  ///< as `token_word` makes it
  int rank = -1;
  int size = 0;
  std::string host = {};  ///< one word; equal on ranks that reach each other by loopback

  std::string text() const;
  /// Whether it is one.
  static bool parse(const std::string& text, Hello& hello);
};

/// A secret, which may be empty or contain blanks, as one word.
std::string token_word(const std::string& token);

/// Rank 0's answer.
struct Answer {
  enum class Kind {
    loopback,     ///< all ranks are here: listen at 127.0.0.1
    network,      ///< listen where others reach you; `text`: where they reach rank 0's machine
    refused,      ///< by all, because of `text`
    wrong_token,  ///< you alone
    none,         ///< no such word
  };
  Kind kind = Kind::none;
  std::string text = {};

  std::string pack() const;
  static Answer unpack(const std::string& packed);
};

/// Who all ranks are: rank 0's last word.
struct RankTable {
  std::string token;               ///< of the job
  std::vector<Address> addresses;  ///< at which the ranks listen for each other
  std::vector<std::string> hosts;  ///< ranks with equal ones share a machine

  std::string pack() const;
  static RankTable unpack(const std::string& packed);
};

/// Of this process, for `Hello::host`.
std::string host_id();

}  // namespace ronde::inline v0
