/// Errors of single ranks in what all do together: all come to know of them.
#pragma once

#include <string>

#include <ronde/core/error.h>

#include "transport/transport.h"

namespace ronde::inline v0 {

/// What `f` throws of ours; empty: nothing.
template <class F>
std::string failure_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// What went wrong on the lowest rank where something did, if not too long; empty: nothing. Collective.
std::string first_failure(Transport& base, const std::string& own);

}  // namespace ronde::inline v0
