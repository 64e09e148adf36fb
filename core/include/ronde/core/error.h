/// Errors that carry values, and the exit status each becomes.
///
/// A fault of the user or of the environment is an `Error`; what an error means for a process is decided by
/// `ronde::run_main` alone. Only its watchdog, in a job that hangs, ends a process otherwise. The library
/// prints nothing but progress and warnings, where nobody asked to be told of these. An impossible state is
/// an `assert`.
///
///     require(channels == 3, "[conv2d] weight expects 3 input channels, got ", channels);
#pragma once

#include <exception>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include <ronde/core/export.h>
#include <ronde/core/text.h>

namespace ronde::inline v0 {

/// Exit status of a rank, and so of the job.
enum class ExitStatus : int {
  ok = 0,
  failure = 1,           ///< failure at run time
  usage = 2,             ///< wrong usage, found before any work
  bad_input = 65,        ///< an input file is damaged or of the wrong kind
  io = 74,               ///< reading or writing failed
  saved = 75,            ///< saved after a signal: run me again
  hang = 86,             ///< a rank hung
  replicas_differ = 87,  ///< weights are no longer equal on all ranks
  non_finite = 88,       ///< the loss is not a finite number
  interrupted = 130,
};

class RONDE_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitStatus status = ExitStatus::failure)
      : std::runtime_error(message), status_(status) {}
  ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

/// An option or an argument that makes no sense.
class RONDE_API UsageError : public Error {
 public:
  explicit UsageError(const std::string& message) : Error(message, ExitStatus::usage) {}
};

/// A file that is damaged or not what was expected.
class RONDE_API InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(message, ExitStatus::bad_input) {}
};

/// The operating system refused to read or to write.
class RONDE_API IoError : public Error {
 public:
  explicit IoError(const std::string& message) : Error(message, ExitStatus::io) {}
};

/// What to tell the user: `what()`, but where that is only "std::bad_alloc" or what the system says of a
/// thread that it did not start, what that means and what helps.
RONDE_API std::string explanation(const std::exception& error);

/// Throws `E` with all pieces as its message: a function of its own, so that places that call it stay small.
template <class E>
[[noreturn, gnu::noinline, gnu::cold]] void throw_error(std::initializer_list<TextPiece> pieces) {
  throw E(concatenate(pieces));
}

/// Throws `E` with all pieces as its message unless `ok`.
template <class E = Error, class... Pieces>
void require(bool ok, const Pieces&... pieces) {
  if (!ok) [[unlikely]]
    throw_error<E>({TextPiece(pieces)...});
}

}  // namespace ronde::inline v0
