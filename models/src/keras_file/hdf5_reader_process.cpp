// The process that limited_reader.h starts. It has read nothing of the file when it gives up what it may do.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <ronde/core/file_descriptor.h>

#include "keras_file/decode.h"
#include "keras_file/hdf5.h"
#include "keras_file/limited_reader.h"
#include "keras_file/plain_model.h"
#include "keras_file/system_call_filter.h"

namespace ronde::inline v0 {

namespace {

void limit(__rlimit_resource what, rlim_t most, rlim_t beyond = 0) {
  const rlimit value{most, most + beyond};
  ::setrlimit(what, &value);
}

/// Bytes of addresses that this process has taken, whatever for: sanitizers take terabytes.
rlim_t address_space() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "re"); file != nullptr) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return rlim_t{pages} * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

/// No file, no process, no more memory or time than that, no core dump, and no life after its parent's.
void give_up_rights(std::int64_t memory, long seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  limit(RLIMIT_AS, address_space() + static_cast<rlim_t>(memory));
  limit(RLIMIT_CPU, static_cast<rlim_t>(seconds), 1);  // a second for SIGXCPU, which says what it was
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NPROC, 0);
  filter_system_calls();
}

/// What libraries read and allocate when they are used first.
void warm_up() {
  ::setenv("HDF5_PLUGIN_PRELOAD", "::", 1);  // a file may name plug-ins
  const hdf5::Session session;
  hdf5::check(H5open(), "starting");
  Tensor::zeros({1});
}

/// Nothing comes of it where the parent has gone, or does not want it.
void answer(char kind, std::string_view content) {
  try {
    write_all(STDOUT_FILENO, {&kind, 1}, "the answer");
    write_all(STDOUT_FILENO, content, "the answer");
  } catch (const SystemError&) {
  }
}

void read_and_answer(std::string_view image) {
  try {
    answer(kAnswerModel, encode_plain_model(decode_hdf5(image)));
  } catch (const hdf5::Hdf5Error& error) {
    answer(kAnswerRefused, cat("damaged or incomplete HDF5 file: ", error.what()));
  } catch (const InputError& error) {
    answer(kAnswerRefused, error.what());
  } catch (const std::exception& error) {  // no memory left, as a rule
    answer(kAnswerRefused,
           cat("cannot be read within the limits for files without a SHA-256: ", error.what()));
  }
}

}  // namespace

int run_hdf5_reader(int count, char** arguments) {
  const std::int64_t memory = count == 3 ? std::atoll(arguments[1]) : 0;
  const long seconds = count == 3 ? std::atol(arguments[2]) : 0;
  struct stat info {};
  if (memory <= 0 || seconds <= 0 || ::fstat(STDIN_FILENO, &info) != 0 || info.st_size <= 0) {
    std::fputs("ronde-hdf5-reader MEMORY SECONDS <file.h5: reads HDF5 for Ronde, which starts it\n", stderr);
    return static_cast<int>(ExitStatus::usage);
  }
  const auto size = static_cast<std::size_t>(info.st_size);
  void* image = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
  if (image == MAP_FAILED) return static_cast<int>(ExitStatus::bad_input);
  warm_up();
  give_up_rights(memory, seconds);
  read_and_answer({static_cast<const char*>(image), size});
  ::_exit(0);  // destructors of libraries may want what is not allowed any more
}

}  // namespace ronde::inline v0
