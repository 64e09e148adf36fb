// Each system call of a save fails in each way, once or from then on, or is where the process is killed. The
// file before must stay good; a save that says it has worked must have; a training must go on.
#include <signal.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <ronde/core/backend.h>
#include <ronde/models/lambda_callback.h>
#include <ronde/models/model_checkpoint.h>

#include "models/testing.h"
#include "rigs/checkpoints/content.h"
#include "rigs/checkpoints/protocols.h"
#include "rigs/checkpoints/rigs.h"
#include "rigs/checkpoints/system_calls.h"
#include "support/temp_dir.h"

namespace ronde::rigs {
namespace {

using test::TempDir;

struct Way {
  const char* name;
  Fault fault;
  bool must_succeed = false;
};

const std::array<Way, 12> kWays{{{"ENOSPC", {.error = ENOSPC}},
                                 {"ENOSPC from then on", {.persists = true, .error = ENOSPC}},
                                 {"EDQUOT", {.error = EDQUOT}},
                                 {"EIO", {.error = EIO}},
                                 {"EIO from then on", {.persists = true, .error = EIO}},
                                 {"EROFS from then on", {.persists = true, .error = EROFS}},
                                 {"EACCES", {.error = EACCES}},
                                 {"ENOMEM", {.error = ENOMEM}},
                                 {"ESTALE", {.error = ESTALE}},
                                 {"EINTR", {.error = EINTR}},
                                 {"short write", {.is_short = true}, true},
                                 {"kill", {.kills = true}}}};

/// The calls of the second save into a directory.
std::vector<SystemCall> calls_of_a_save() {
  const TempDir dir(test::memory_directory());
  save(Protocol::full, dir.path(), 1, [](std::int64_t) {});
  start(dir.path());
  write_saved_model(file_of(dir.path(), 2), content_of(2));
  return stop();
}

bool has_temporary_file(const std::string& directory) {
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().string().find(".tmp.") != std::string::npos) return true;
  return false;
}

/// What is wrong after the second save met a fault; empty: nothing.
std::string wrong_with_a_save(const Way& way, std::int64_t call) {
  constexpr int kSaved = 0, kRefused = 74;
  const TempDir dir(test::memory_directory());
  save(Protocol::full, dir.path(), 1, [](std::int64_t) {});
  Fault fault = way.fault;
  fault.call = call;
  const int status = in_child([&] {
    start(dir.path(), fault);
    try {
      write_saved_model(file_of(dir.path(), 2), content_of(2));
      return kSaved;
    } catch (const Error& error) {
      return static_cast<int>(error.status());
    }
  });
  if (fault.kills ? status != -SIGKILL : status != kSaved && status != kRefused)
    return cat("it ended with ", status);
  if (way.must_succeed && status != kSaved) return "it gave up";
  const Found found = find(dir.path());
  if (!found.damaged.empty()) return "a damaged file: " + found.damaged;
  if (!found.is_right) return "the file has another content";
  if (found.step < (status == kSaved ? 2 : 1)) return "a file was lost";
  // The last call that could leave one is the rename; deleting it may fail too.
  if (!fault.kills && !fault.persists && has_temporary_file(dir.path())) return "a temporary file is left";
  save(Protocol::full, dir.path(), 2, [](std::int64_t) {});
  if (find(dir.path()).step != 2 || has_temporary_file(dir.path()))
    return "the save after it did not mend it";
  return "";
}

/// A training of six steps that saves after each, in which a call fails once a file is there.
std::string wrong_with_a_training(const Way& way, std::int64_t call) {
  const TempDir dir(test::memory_directory());
  Fault fault = way.fault;
  fault.call = call;
  const int status = in_child([&] {
    Model model = test::small_model({.backend = &backend("cpu")});
    ModelCheckpoint files({.filepath = dir / "{batch}.h5", .save_steps = 1, .keep = 2});
    LambdaCallback disk({.on_train_batch_begin = [&](std::int64_t batch) {
      if (batch == 2) start(dir.path(), fault);
    }});
    FitOptions fit{.batch_size = 2, .callbacks = {&disk, &files}, .verbose = 0};
    fit.warn = [](const std::string&) {};
    return model.fit(test::small_images(12), fit).epochs.size() == 1 ? 0 : 1;
  });
  return status == 0 ? "" : cat("the training ended with ", status);
}

}  // namespace

bool run_faults() {
  const std::vector<SystemCall> calls = calls_of_a_save();
  std::printf("  the calls of a save:");
  for (const SystemCall& call : calls) std::printf(" %s,", name_of(call.kind));
  std::printf(" %zu in all\n", calls.size());
  int cases = 0, failures = 0;
  const auto judge = [&](const char* what, const Way& way, std::size_t call, const std::string& problem) {
    ++cases;
    if (problem.empty()) return;
    ++failures;
    std::printf("  %s, %s at call %zu (%s): %s\n", what, way.name, call, name_of(calls[call].kind),
                problem.c_str());
  };
  for (const Way& way : kWays) {
    for (std::size_t call = 0; call < calls.size(); ++call) {
      if (way.fault.is_short && calls[call].kind != SystemCall::Kind::write) continue;
      judge("save", way, call, wrong_with_a_save(way, static_cast<std::int64_t>(call)));
      if (!way.fault.kills)
        judge("training", way, call, wrong_with_a_training(way, static_cast<std::int64_t>(call)));
    }
  }
  std::printf("  %d cases, %d failures\n", cases, failures);
  return failures == 0 && cases > 100;
}

}  // namespace ronde::rigs
