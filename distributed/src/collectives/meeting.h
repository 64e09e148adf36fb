/// What a rank brings to a meeting, and what comes of it when the ranks do not bring the same. See Note
/// [Meeting].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace ronde::inline v0 {

struct Record {
  enum class Kind : char {
    call = 'c',
    objection = 'o',  // to this rank's own call; `text` says what is wrong with it
    done = 'd',       // this rank calls nothing more
    failure = 'f',    // nor this one, because of an error, `text`
    follower = 'l',   // the same, but the error only says that another rank has gone
  };

  Kind kind = Kind::call;
  std::int32_t rank = 0;    // failure: where it happened; objection: who objects
  std::int32_t status = 0;  // of the error
  std::string verb = {};
  std::string name = {};
  std::string text = {};  // call: the arguments

  std::string pack() const;
  static Record unpack(const std::string& packed);
};

/// What `rank` brings instead of its call, `record`. Carries the rank, so that the objections of two ranks
/// are never taken for agreement.
Record objection(Record record, int rank, const std::string& text, ExitStatus status);

/// The records of all ranks. Collective.
std::vector<Record> exchange(Transport& transport, const Record& own);

/// The failure of the lowest rank, of those that follow from others only where there is no other; nullptr if
/// there is none.
const Record* failure_in(const std::vector<Record>& records);

/// What records that are no failures, and not all the same call, mean: every rank makes the same error.
/// `world`: what the ranks are in the world.
CollectiveError disagreement_in(const std::vector<Record>& records, const std::vector<int>& world);

}  // namespace ronde::inline v0
