// HDF5 that nobody vouches for. That good and damaged files are read as they were is saved_model_test's;
// here: what becomes of a process that dies, hangs or lies.
#include "keras_file/limited_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdlib>

#include <ronde/models/file_io.h>

#include "keras_file/plain_model.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

constexpr ReaderLimits kLimits{std::int64_t{1} << 30, 5.0};

SavedModel small() {
  SavedModel model;
  model.layers = {{"dense", {{"dense/kernel:0", Tensor::from<float>({2}, {1, 2})}}}};
  return model;
}

std::string without_sha256(const SavedModel& model) {
  const std::string bytes = encode_saved_model(model);
  return bytes.substr(0, bytes.find("\nronde-"));
}

/// A program that stands in for the reader.
std::string script(const TempDir& dir, const std::string& text) {
  const std::string path = dir / "reader";
  atomic_write_file(path, "#!/bin/sh\n" + text + "\n");
  ::chmod(path.c_str(), 0700);
  return path;
}

std::string message_with(const std::string& program, const ReaderLimits& limits = kLimits) {
  return message_of<InputError>([&] { decode_in_child("bytes", program, limits); });
}

TEST(LimitedReader, AProcessThatDiesIsAnInputError) {
  const TempDir dir;
  EXPECT_EQ(
      message_with(script(dir, "kill -SEGV $$")),
      "damaged or hostile: libhdf5 crashed over it, in a process of its own (signal 11, Segmentation fault)");
  EXPECT_EQ(message_with(script(dir, "kill -XCPU $$")),
            "damaged or hostile: reading it took more than 5 s of a processor");
}

TEST(LimitedReader, AProcessThatNeverEndsIsKilled) {
  const TempDir dir;
  EXPECT_EQ(message_with(script(dir, "exec sleep 1000"), {1 << 20, 0.05}), "reading it took more than 0.2 s");
}

TEST(LimitedReader, AProcessThatLiesIsAnInputError) {
  const TempDir dir;
  EXPECT_TRUE(
      message_with(script(dir, "echo Mischief")).starts_with("damaged or hostile: what reads it answers"));
  EXPECT_EQ(message_with(script(dir, "echo x")), "damaged or hostile: what reads it answers nonsense");
  EXPECT_EQ(message_with(script(dir, "printf 'R%s\\n%s' bad line")), "bad?line");
  EXPECT_EQ(message_with(script(dir, "exec cat /dev/zero"), {1 << 20, 5.0}),
            "reading it takes more than 1 MB");
}

TEST(LimitedReader, AProgramThatCannotRunIsAnIoErrorThatNamesTheFile) {
  const TempDir dir;
  const std::string bytes = without_sha256(small());
  const auto message = [&](const std::string& program) {
    ::setenv("RONDE_HDF5_READER", program.c_str(), 1);
    const std::string text = message_of<IoError>([&] { decode_saved_model(bytes, "a.h5"); });
    ::unsetenv("RONDE_HDF5_READER");
    return text;
  };
  EXPECT_EQ(message(dir / "none"), cat("a.h5: cannot be read in a process of its own: ", dir / "none",
                                       ": No such file or directory"));
  EXPECT_TRUE(message(script(dir, "exit 127")).find("ended with status 127 and no answer") !=
              std::string::npos);
}

TEST(LimitedReader, MemoryAndTimeAreLimited) {
  const SavedModel large = [] {
    SavedModel model = small();
    model.layers[0].weights[0].values = Tensor::zeros({2 << 20});
    return model;
  }();
  const std::string bytes = without_sha256(large), program = find_hdf5_reader();
  EXPECT_EQ(decode_in_child(bytes).layers[0].weights[0].values.count(), 2 << 20);
  // AddressSanitizer ends a process that has no memory left, so there it is no answer at all.
  EXPECT_THROW(decode_in_child(bytes, program, {8 << 20, 60.0}), Error);
}

TEST(PlainModel, DamageIsAnInputError) {
  SavedModel model = small();
  model.state.emplace().seed = ~std::uint64_t{0};
  model.state->optimizer.emplace().learning_rate = -0.0;
  const std::string bytes = encode_plain_model(model);
  const SavedModel same = decode_plain_model(bytes);
  EXPECT_EQ(same.state->seed, ~std::uint64_t{0});
  EXPECT_TRUE(std::signbit(same.state->optimizer->learning_rate));
  for (std::size_t length = 0; length < bytes.size(); length += 41)
    EXPECT_THROW(decode_plain_model(bytes.substr(0, length)), InputError) << length;
  SavedModel other = small();
  other.layers.clear();
  EXPECT_THROW(decode_plain_model(encode_saved_model(other)), InputError);
}

}  // namespace
}  // namespace ronde::test
