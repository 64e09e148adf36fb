#pragma once

#include <exception>
#include <string>

#include <ronde/core/error.h>

namespace ronde::test {

/// The text of the `E` that `f` throws.
template <class E = Error, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const E& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("another error: ") + error.what();
  }
  return "no error";
}

}  // namespace ronde::test
