#include "ronde/run/ending.h"

#include <cstring>

#include <ronde/core/error.h>

namespace ronde::apps {
namespace {

constexpr int kOldUsage = 64;    // of sysexits.h
constexpr int kLastSignal = 64;  // mpirun has statuses of its own above
constexpr int kNotRunnable = 126, kNotFound = 127;

std::string meaning_of(int status) {
  switch (static_cast<ExitStatus>(status)) {
    case ExitStatus::ok:
      return "done";
    case ExitStatus::usage:
      return "wrong usage";
    case ExitStatus::bad_input:
      return "a bad input file";
    case ExitStatus::io:
      return "reading or writing failed";
    case ExitStatus::saved:
      return "saved, to be started again";
    case ExitStatus::hang:
      return "a rank hung";
    case ExitStatus::replicas_differ:
      return "weights differed between ranks";
    case ExitStatus::non_finite:
      return "numbers were not finite";
    default:
      return status == kNotFound ? "the program was not found" : "failed";
  }
}

}  // namespace

Verdict judge(int status) {
  if (status == 0) return Verdict::done;
  if (status == static_cast<int>(ExitStatus::saved)) return Verdict::saved;
  for (const int hopeless : {static_cast<int>(ExitStatus::usage), static_cast<int>(ExitStatus::bad_input),
                             static_cast<int>(ExitStatus::interrupted), kOldUsage, kNotRunnable, kNotFound})
    if (status == hopeless) return Verdict::is_final;
  return Verdict::try_again;
}

int status_when_told_to_end(int status) {
  const bool is_hopeless =
      judge(status) == Verdict::is_final && status != static_cast<int>(ExitStatus::interrupted);
  return is_hopeless || status == static_cast<int>(ExitStatus::io) ? status
                                                                   : static_cast<int>(ExitStatus::saved);
}

std::string describe_status(int status) {
  const bool is_signal = status > 128 && status <= 128 + kLastSignal;
  if (is_signal && status != static_cast<int>(ExitStatus::interrupted))
    return cat("signal ", status - 128, " (", strsignal(status - 128), ')');
  return cat(meaning_of(status), " (exit status ", status, ')');
}

}  // namespace ronde::apps
