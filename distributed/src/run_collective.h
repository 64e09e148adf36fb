/// A checked call, carried out on a transport whose ranks have met.
#pragma once

#include <functional>
#include <string>

#include <ronde/distributed/collective.h>

#include "transport.h"

namespace ronde::inline v0 {

/// Brings this rank's error, "" if there is none, to a further meeting, which throws on all ranks when one
/// has an error.
using AgreeOnError = std::function<void(const std::string& error)>;

/// What a transport may know of a call whose buffers are as it will get them: empty for many calls.
Announcement announcement_of(const Collective& call);

/// `agree_on_error` is called by operations that make room for what they receive.
void run_collective(const Collective& call, Transport& transport, const AgreeOnError& agree_on_error);

/// Of `rows` rows, those of each of `size` ranks: the first rows % size get one more.
std::vector<std::int64_t> even_rows(std::int64_t rows, int size);

}  // namespace ronde::inline v0
