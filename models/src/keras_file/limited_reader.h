/// HDF5 data that nobody vouches for, read in a process of its own.
///
///     SavedModel model = decode_in_child(image);
///
/// libhdf5 1.10 can be crashed, kept busy for ever, and perhaps taken over by damaged or crafted bytes. So a
/// file without Ronde's SHA-256 is given to a small program, `ronde-hdf5-reader`, which may use so much
/// memory and processor time, open no files or sockets, start nothing, and only answers with a SavedModel in
/// a plain form (plain_model.h). What that answer says is checked like any other file. Whatever happens to
/// that process is an InputError here.
///
/// It is started with posix_spawn, not fork: this process has threads, may have gigabytes, and MPI's memory.
/// The program is looked for as `libexec/ronde/ronde-hdf5-reader` in the directories above the one of
/// libronde.so (or of the program, when that has the library in itself), or where $RONDE_HDF5_READER says.
/// Thread safety: any number at once.
#pragma once

#include <cstdint>
#include <string>

#include <ronde/models/saved_model.h>

namespace ronde::inline v0 {

struct ReaderLimits {
  std::int64_t memory = 0;  ///< bytes, beside what the program has at its start
  double seconds = 0.0;     ///< of the processor; four times as many may pass
};
/// What any good file of that size is content with, many times over.
ReaderLimits reader_limits(std::size_t file_bytes);

/// Where the program is; an IoError that says what is missing.
std::string find_hdf5_reader();

/// InputError when the data are damaged, are no model, or ask for more than the limits; it does not name the
/// file. IoError when the program cannot be run. The data are let go when the program has them.
SavedModel decode_in_child(std::string image);
SavedModel decode_in_child(std::string image, const std::string& program, const ReaderLimits& limits);

/// The program's side: `main`, given the limits as arguments, the data as standard input and a pipe as
/// standard output.
RONDE_API int run_hdf5_reader(int count, char** arguments);

/// What an answer begins with.
inline constexpr char kAnswerModel = 'M', kAnswerRefused = 'R';

}  // namespace ronde::inline v0
