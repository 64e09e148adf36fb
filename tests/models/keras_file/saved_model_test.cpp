#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <ronde/models/file_io.h>
#include <ronde/models/saved_model.h>

#include "json/json.h"
#include "keras_file/trailer.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "weights/saved_run.h"

namespace ronde::test {
namespace {

/// With all that could get lost on the way: numbers that JSON has not, digits, empty tensors.
SavedRun example_run() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  SavedRun run{.epoch = 2, .epoch_step = 5, .stopped = true};
  run.plan = {{"global_batch", 128}, {"shuffle", false}};
  run.arithmetic = {{"ranks", 2}};
  run.totals = {{0.1, 3.0}, {1.0 / 3.0, 4.0}};
  run.history.epochs = {0, 1};
  run.history.values = {{"loss", {0.7, 0.1 + 0.2}},
                        {"val_loss", {std::numeric_limits<double>::quiet_NaN(), -kInfinity}}};
  run.callbacks = {
      {"early_stopping",
       {{"best", kInfinity}, {"wait", 1}, {"list", ConfigList{1.5, -kInfinity, ConfigDict{{"a", "b"}}}}},
       {{"values", Tensor::from<double>({2, 1}, {0.1, 0.2})}, {"none", Tensor::empty({0})}}},
      {"early_stopping", {{"best", ConfigValue()}}, {{"values", Tensor::from<float>({1}, {4.0F})}}}};
  return run;
}

SavedModel example() {
  SavedModel model;
  model.keras_version = "2.15.0";
  model.model_config = ConfigDict{{"class_name", "Sequential"}};
  model.training_config = ConfigDict{{"loss", "categorical_crossentropy"}};
  model.layers = {
      {"conv2d",
       {{"conv2d/kernel:0", Tensor::from<float>({1, 2, 1, 2}, {1, 2, 3, 4})},
        {"conv2d/bias:0", Tensor::from<float>({2}, {5, 6})}}},
      {"flatten", {}},
      {"block/dense", {{"block/dense/kernel:0", Tensor::from<double>({3}, {0.1, 0.2, 0.3})}}},
  };
  SavedOptimizer optimizer{"Adam", 7, 0.25, {}};
  optimizer.slots.push_back(
      {"velocity", {{"conv2d/kernel", Tensor::from<float>({1, 2, 1, 2}, {7, 8, 9, 10})}}});
  model.state = SavedState{3, 1234567890123, 0xfedcba9876543210u, optimizer};
  model.state->optimizer_settings = {{"epsilon_inside_sqrt", false}};
  model.state->run = example_run();
  return model;
}

void expect_equal(const std::vector<SavedWeight>& a, const std::vector<SavedWeight>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].values.shape(), b[i].values.shape());
    EXPECT_EQ(a[i].values.dtype(), b[i].values.dtype());
    EXPECT_EQ(a[i].values.to_vector<double>(), b[i].values.to_vector<double>());
  }
}

void expect_equal(const SavedModel& a, const SavedModel& b) {
  EXPECT_EQ(a.keras_version, b.keras_version);
  EXPECT_EQ(to_json(a.model_config), to_json(b.model_config));
  EXPECT_EQ(to_json(a.training_config), to_json(b.training_config));
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (std::size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].name, b.layers[i].name);
    expect_equal(a.layers[i].weights, b.layers[i].weights);
  }
  ASSERT_EQ(a.state.has_value(), b.state.has_value());
  if (!a.state) return;
  EXPECT_EQ(a.state->epochs, b.state->epochs);
  EXPECT_EQ(a.state->steps, b.state->steps);
  EXPECT_EQ(a.state->seed, b.state->seed);
  EXPECT_EQ(to_json(a.state->optimizer_settings), to_json(b.state->optimizer_settings));
  ASSERT_EQ(a.state->run.has_value(), b.state->run.has_value());
  if (a.state->run) {
    EXPECT_EQ(to_json(pack_run(*a.state->run).tree), to_json(pack_run(*b.state->run).tree));
    ASSERT_EQ(a.state->run->callbacks.size(), b.state->run->callbacks.size());
    for (std::size_t i = 0; i < a.state->run->callbacks.size(); ++i)
      expect_equal(a.state->run->callbacks[i].tensors, b.state->run->callbacks[i].tensors);
  }
  ASSERT_EQ(a.state->optimizer.has_value(), b.state->optimizer.has_value());
  if (!a.state->optimizer) return;
  EXPECT_EQ(a.state->optimizer->name, b.state->optimizer->name);
  EXPECT_EQ(a.state->optimizer->iterations, b.state->optimizer->iterations);
  EXPECT_EQ(a.state->optimizer->learning_rate, b.state->optimizer->learning_rate);
  ASSERT_EQ(a.state->optimizer->slots.size(), b.state->optimizer->slots.size());
  for (std::size_t i = 0; i < a.state->optimizer->slots.size(); ++i) {
    EXPECT_EQ(a.state->optimizer->slots[i].name, b.state->optimizer->slots[i].name);
    expect_equal(a.state->optimizer->slots[i].weights, b.state->optimizer->slots[i].weights);
  }
}

/// Without the lines behind the HDF5 data, so that what libhdf5 does with the bytes is tested.
std::string without_trailer(std::string bytes) {
  bytes.resize(bytes.size() - kTrailerLength);
  return bytes;
}

TEST(SavedModel, RoundTrip) {
  expect_equal(decode_saved_model(encode_saved_model(example()), "memory"), example());
  SavedModel bare;
  bare.keras_version = "2.15.0";
  bare.layers = {{"dense", {{"dense/kernel:0", Tensor::from<float>({2}, {1, 2})}}}};
  expect_equal(decode_saved_model(encode_saved_model(bare), "memory"), bare);
}

TEST(SavedModel, NumbersThatJsonHasNotComeBack) {
  const SavedModel file = decode_saved_model(encode_saved_model(example()), "memory");
  const SavedRun& run = *file.state->run;
  EXPECT_TRUE(std::isnan(run.history.values.at("val_loss")[0]));
  EXPECT_EQ(run.history.values.at("val_loss")[1], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(run.history.values.at("loss")[1], 0.1 + 0.2);
  EXPECT_EQ(ConfigValue(run.callbacks[0].values).at("best").as_double(),
            std::numeric_limits<double>::infinity());
  EXPECT_EQ(run.totals, example_run().totals);
}

TEST(SavedModel, TheEndOfTheFileTellsItsProgress) {
  const std::string bytes = encode_saved_model(example());
  const auto progress = read_progress(std::string_view(bytes).substr(bytes.size() - kTrailerLength));
  ASSERT_TRUE(progress);
  EXPECT_EQ(*progress, (FileProgress{.epochs = 3, .steps = 1234567890123}));
  EXPECT_FALSE(read_progress(bytes));
  EXPECT_FALSE(read_progress(std::string(kTrailerLength, ' ')));
  std::string end = bytes.substr(bytes.size() - kTrailerLength);
  const std::size_t epochs = end.find("0000000003");
  ASSERT_NE(epochs, std::string::npos);
  EXPECT_TRUE(read_progress(end));
  EXPECT_FALSE(read_progress(end.replace(epochs, 10, "-000000003")));
}

TEST(SavedModel, EqualContentGivesEqualBytes) {
  const std::string first = encode_saved_model(example());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(encode_saved_model(example()) == first);
}

TEST(SavedModel, LongConfigsAndManyLayers) {
  SavedModel model = example();
  model.model_config = std::string(200000, 'x');  // fixed-length attributes end at 64 KiB
  for (int i = 0; i < 300; ++i)
    model.layers.push_back({cat("layer_", i), {{"w:0", Tensor::from<float>({1}, {static_cast<float>(i)})}}});
  expect_equal(decode_saved_model(encode_saved_model(model), "memory"), model);
}

/// Elements of a chunk of that dataset.
std::int64_t chunk_size(hid_t file, const char* path) {
  const hid_t dataset = H5Dopen2(file, path, H5P_DEFAULT), properties = H5Dget_create_plist(dataset);
  hsize_t extents[Shape::kMaxRank] = {};
  const int rank = H5Pget_chunk(properties, Shape::kMaxRank, extents);
  H5Pclose(properties);
  H5Dclose(dataset);
  return std::accumulate(extents, extents + rank, std::int64_t{1}, std::multiplies<std::int64_t>());
}

// HDF5 makes room for a chunk twice while it writes or reads one.
TEST(SavedModel, LargeWeightsLieInChunksOfAQuarterOfAMegabyte) {
  SavedModel model;
  model.keras_version = "2.15.0";
  const auto numbers = [](Shape shape) {
    const Tensor values = Tensor::empty(shape);
    std::iota(values.data<float>(), values.data<float>() + values.count(), 1.0F);
    return values;
  };
  model.layers = {{"a",
                   {{"rows", numbers({1031, 523})},
                    {"one_row", numbers({1, 300000})},
                    {"filters", numbers({3, 3, 300, 201})},
                    {"small", numbers({256, 255})}}}};
  const std::string bytes = encode_saved_model(model);
  expect_equal(decode_saved_model(bytes, "memory"), model);
  const TempDir dir;
  atomic_write_file(dir / "file.h5", bytes);
  const hid_t file = H5Fopen((dir / "file.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_EQ(chunk_size(file, "model_weights/a/rows"), 115 * 523) << "nine parts";
  EXPECT_EQ(chunk_size(file, "model_weights/a/one_row"), 60000);
  EXPECT_EQ(chunk_size(file, "model_weights/a/filters"), 300 * 201) << "of the first two axes alone";
  EXPECT_EQ(chunk_size(file, "model_weights/a/small"), 256 * 255) << "one part";
  H5Fclose(file);
}

TEST(SavedModel, TruncatedFilesAreInputErrorsOrComplete) {
  const std::string bytes = encode_saved_model(example());
  const SavedModel expected = example();
  for (std::size_t length = 0; length < bytes.size(); length += length < 200 ? 7 : 487) {
    try {
      expect_equal(decode_saved_model(bytes.substr(0, length), "cut"), expected);
      EXPECT_GE(length, bytes.size() - kTrailerLength) << "more was lost than the trailer";
    } catch (const InputError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("cut: ")) << error.what();
    }
  }
}

TEST(SavedModel, ASpoiledLastLineIsNotTakenForNone) {
  const std::string bytes = encode_saved_model(example());
  for (std::size_t i = bytes.size() - kTrailerLength; i < bytes.size(); ++i) {
    std::string other = bytes;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_THROW(decode_saved_model(other, "x"), InputError) << i;
  }
  EXPECT_THROW(decode_saved_model(bytes + "more", "x"), InputError);
  EXPECT_THROW(decode_saved_model(bytes.substr(0, bytes.size() - 1), "x"), InputError);
}

TEST(SavedModel, FlippedBytesAreInputErrors) {
  const std::string bytes = encode_saved_model(example());
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    std::string damaged = bytes;
    const std::size_t at = random() % bytes.size();
    damaged[at] = static_cast<char>(damaged[at] ^ static_cast<char>(1 + random() % 255));
    try {
      decode_saved_model(damaged, "flipped");
      ADD_FAILURE() << "a change at " << at << " went unnoticed";
    } catch (const InputError&) {
    }
  }
}

TEST(SavedModel, WithoutTheTrailerHdf5sChecksumsStillProtectWeights) {
  const std::string bytes = without_trailer(encode_saved_model(example()));
  expect_equal(decode_saved_model(bytes, "memory"), example());
  const float marker[] = {7, 8, 9, 10};
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(marker), sizeof marker));
  ASSERT_NE(at, std::string::npos);
  std::string damaged = bytes;
  damaged[at + 5] = static_cast<char>(damaged[at + 5] ^ 1);
  EXPECT_THROW(decode_saved_model(damaged, "damaged"), InputError);
}

TEST(SavedModel, OtherFilesAreInputErrors) {
  const TempDir dir;
  for (const std::string content : {"", "x", "\x89HDF\r\n\x1a\n", "not an HDF5 file at all"}) {
    atomic_write_file(dir / "file.h5", content);
    const std::string message = message_of<InputError>([&] { read_saved_model(dir / "file.h5"); });
    EXPECT_TRUE(message.starts_with(dir / "file.h5: ")) << message;
  }
  EXPECT_THROW(read_saved_model(dir / "missing.h5"), IoError);
}

/// An HDF5 file made by `fill(file)`.
template <class F>
std::string hdf5_file(const TempDir& dir, F&& fill) {
  const std::string path = dir / "made.h5";
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  fill(file);
  H5Fclose(file);
  return path;
}

void write_fixed_names(hid_t object, const char* name, const std::vector<std::string>& texts,
                       std::size_t size) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, size);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const hsize_t count = texts.size();
  const hid_t space = H5Screate_simple(1, &count, nullptr);
  std::string buffer;
  for (std::string text : texts) {
    text.resize(size, '\0');
    buffer += text;
  }
  const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  H5Awrite(attribute, type, buffer.data());
  H5Aclose(attribute);
  H5Sclose(space);
  H5Tclose(type);
}

hid_t make_group(hid_t parent, const char* name) {
  return H5Gcreate2(parent, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

TEST(SavedModel, ReadsFixedTextsSplitListsHalfPrecisionAndWeightsInTheRoot) {
  const TempDir dir;
  const std::string path = hdf5_file(dir, [](hid_t file) {
    write_fixed_names(file, "layer_names0", {"dense", "d"}, 5);
    write_fixed_names(file, "layer_names1", {"last"}, 8);
    for (const char* name : {"dense", "d", "last"}) {
      const hid_t group = make_group(file, name);
      if (name[1] == 'e') {
        write_fixed_names(group, "weight_names", {"kernel"}, 6);
        const hsize_t extent = 2;
        const hid_t space = H5Screate_simple(1, &extent, nullptr);
        const hid_t half = H5Tcopy(H5T_IEEE_F32LE);  // IEEE half precision, as NumPy's float16 is written
        H5Tset_fields(half, 15, 10, 5, 0, 10);
        H5Tset_size(half, 2);
        H5Tset_ebias(half, 15);
        const hid_t dataset = H5Dcreate2(group, "kernel", half, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const double values[] = {0.5, -2.0};
        H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        H5Dclose(dataset);
        H5Tclose(half);
        H5Sclose(space);
      }
      H5Gclose(group);
    }
  });
  const SavedModel model = read_saved_model(path);
  ASSERT_EQ(model.layers.size(), 3u);
  EXPECT_EQ(model.layers[1].name, "d");
  EXPECT_EQ(model.layers[2].name, "last");
  ASSERT_EQ(model.layers[0].weights.size(), 1u);
  EXPECT_EQ(model.layers[0].weights[0].values.to_vector<float>(), (std::vector<float>{0.5f, -2.0f}));
  EXPECT_FALSE(model.state.has_value());
}

/// A file with one layer, "dense", whose one weight "w" is made by `make_weight(group)`.
template <class F>
std::string refusal(F&& make_weight) {
  const TempDir dir;
  const std::string path = hdf5_file(dir, [&](hid_t file) {
    write_fixed_names(file, "layer_names", {"dense"}, 5);
    const hid_t group = make_group(file, "dense");
    write_fixed_names(group, "weight_names", {"w"}, 1);
    make_weight(group);
    H5Gclose(group);
  });
  return message_of<InputError>([&] { read_saved_model(path); });
}

void make_dataset(hid_t group, hid_t type, std::vector<hsize_t> extents, hid_t properties = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
  H5Dclose(H5Dcreate2(group, "w", type, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Sclose(space);
}

TEST(SavedModel, LinksOutOfTheFileAreRefused) {
  for (const std::string& message :
       {refusal(
            [](hid_t group) { H5Lcreate_external("other.h5", "/w", group, "w", H5P_DEFAULT, H5P_DEFAULT); }),
        refusal([](hid_t group) { H5Lcreate_soft("/dense", group, "w", H5P_DEFAULT, H5P_DEFAULT); })})
    EXPECT_NE(message.find("w is a link to somewhere else"), std::string::npos) << message;
}

TEST(SavedModel, ExternalStorageIsRefused) {
  const std::string message = refusal([](hid_t group) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, "/etc/hostname", 0, 8);
    make_dataset(group, H5T_IEEE_F32LE, {2}, properties);
    H5Pclose(properties);
  });
  EXPECT_NE(message.find("w lies in another file"), std::string::npos) << message;
}

TEST(SavedModel, VirtualDatasetIsRefused) {
  const std::string message = refusal([](hid_t group) {
    const hsize_t extent = 2;
    const hid_t space = H5Screate_simple(1, &extent, nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(properties, space, "other.h5", "/w", space);
    make_dataset(group, H5T_IEEE_F32LE, {2}, properties);
    H5Pclose(properties);
    H5Sclose(space);
  });
  EXPECT_NE(message.find("w is a virtual dataset"), std::string::npos) << message;
}

TEST(SavedModel, DeclaringMoreThanTheFileHoldsIsRefused) {
  const std::string message = refusal([](hid_t group) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[] = {1024, 1024};
    H5Pset_chunk(properties, 2, chunk);  // nothing is stored
    make_dataset(group, H5T_IEEE_F32LE, {hsize_t{1} << 31, hsize_t{1} << 31}, properties);
    H5Pclose(properties);
  });
  EXPECT_NE(message.find("declares more elements than the file holds"), std::string::npos) << message;
}

TEST(SavedModel, OtherTypesAreRefused) {
  EXPECT_NE(refusal([](hid_t group) { make_dataset(group, H5T_C_S1, {2}); }).find("does not hold numbers"),
            std::string::npos);
  EXPECT_NE(refusal([](hid_t group) { H5Gclose(make_group(group, "w")); }).find("w is not a dataset"),
            std::string::npos);
  EXPECT_NE(refusal([](hid_t) {}).find("finding w failed"), std::string::npos);
}

TEST(SavedModel, ReadsBfloat16AsKerasSavesItAndCounts) {
  const TempDir dir;
  const std::string path = hdf5_file(dir, [](hid_t file) {
    write_fixed_names(file, "layer_names", {"dense"}, 5);
    const hid_t group = make_group(file, "dense");
    write_fixed_names(group, "weight_names", {"w", "n"}, 1);
    const hid_t space = H5Screate(H5S_SCALAR);  // a count, as of Normalization
    const hid_t count = H5Dcreate2(group, "n", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const std::int64_t seven = 7;
    H5Dwrite(count, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, &seven);
    H5Dclose(count);
    H5Sclose(space);
    const hid_t type = H5Tcreate(H5T_OPAQUE, 2);
    make_dataset(group, type, {3});
    const hid_t dataset = H5Dopen2(group, "w", H5P_DEFAULT);
    const std::uint16_t values[] = {0x3f80, 0xc020, 0x3eab};  // 1, -2.5, 1 / 3 rounded to 8 bits
    H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    H5Dclose(dataset);
    H5Tclose(type);
    H5Gclose(group);
  });
  const SavedModel model = read_saved_model(path);
  ASSERT_EQ(model.layers.size(), 1u);
  EXPECT_EQ(model.layers[0].weights.at(0).values.to_vector<float>(),
            (std::vector<float>{1.0F, -2.5F, 0.333984375F}));
  EXPECT_EQ(model.layers[0].weights.at(1).values.to_vector<double>(), std::vector<double>{7.0});
}

}  // namespace
}  // namespace ronde::test
