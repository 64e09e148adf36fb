// Ronde's part of the test of files with Keras, onnxruntime and safetensors: makes files, and reads theirs.
//
//     ronde_side make DIR COUNT    random nets 0 ... COUNT - 1, each in every format, with what they predict
//     ronde_side check DIR         nets of another program, each DIR/N with io.npz: do they predict the same?
#include <cstdio>
#include <filesystem>
#include <string>

#include <ronde/models/export_onnx.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/weights_npz.h>

#include "models/interop/random_net.h"

namespace ronde::test {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-5;

void make(const std::string& directory, std::uint64_t seed) {
  const std::string stem = cat(directory, "/", seed, "/");
  Model model = random_model(seed);
  const Shape input = model.module().input_shape();
  model.save(stem + "net.h5");
  model.save(stem + "net.keras");
  model.save_weights(stem + "net.weights.h5");
  model.save(stem + "tf2.h5", {.keras_optimizer_state = KerasOptimizerState::tf2});
  model.save(stem + "tf2.keras", {.keras_optimizer_state = KerasOptimizerState::tf2});
  model.save(stem + "keras3.keras", {.keras_optimizer_state = KerasOptimizerState::keras3});
  write_onnx(stem + "net.onnx", model.module());
  write_safetensors(stem + "net.safetensors", model.module());
  write_npz(stem + "net.npz", model.module());

  NamedTensors io;
  io["input"] = random_images(7, input, 0.5);
  io["output"] = model.predict(io["input"]);
  io["iterations"] = Tensor::from<std::int64_t>({1}, {model.optimizer().iterations()});
  io["labels"] = random_labels(8);
  Model fresh = fresh_model(seed);
  write_onnx(stem + "fresh.onnx", fresh.module());
  io["fresh_output"] = fresh.predict(io["input"]);
  io["train_input"] = random_images(8, input, 0.25);
  if (random_net(seed).keras3_only) io["keras3_only"] = Tensor::zeros({1});
  if (random_net(seed).has_attention) io["has_attention"] = Tensor::zeros({1});
  if (random_net(seed).repeatable) {
    model.train_on_batch(io["train_input"], io["labels"]);
    io["output_after_step"] = model.predict(io["input"]);
  }
  write_npz(stem + "io.npz", io);
}

double largest_difference(const Tensor& a, const Tensor& b) {
  require(a.shape() == b.shape(), "shapes differ: ", a.shape(), " and ", b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, std::abs(x[i] - y[i]));
  return largest;
}

bool report(const std::string& what, double difference, double tolerance = kTolerance) {
  const bool same = difference <= tolerance;
  if (!same) std::printf("FAILED: %s: predictions differ by %g\n", what.c_str(), difference);
  return same;
}

/// Each file of the net that was made by the other program.
bool check(const fs::path& net) {
  const NamedTensors io = read_npz((net / "io.npz").string());
  bool good = true;
  for (const char* name : {"net.h5", "net.keras"}) {
    const std::string file = (net / name).string();
    if (!fs::exists(file)) continue;
    Model model = Model::load(file);
    good &= report(file, largest_difference(model.predict(io.at("input")), io.at("output")));
    for (const char* weights : {"net.weights.h5", "legacy_weights.h5"}) {
      const std::string weights_file = (net / weights).string();
      if (!fs::exists(weights_file)) continue;
      model.arena().values().fill(0.5);
      model.load_weights(weights_file);
      good &= report(weights_file, largest_difference(model.predict(io.at("input")), io.at("output")));
    }
    if (!io.contains("output_after_step")) continue;
    Model resumed = Model::load(file);
    const auto iterations = static_cast<std::int64_t>(io.at("iterations").item());
    if (resumed.optimizer().iterations() != iterations) {
      std::printf("FAILED: %s: the optimizer's state was not taken over\n", file.c_str());
      good = false;
    }
    resumed.train_on_batch(io.at("train_input"), io.at("labels"));
    good &= report(file + " after one more step",
                   largest_difference(resumed.predict(io.at("input")), io.at("output_after_step")));
  }
  return good;
}

int run(const std::vector<std::string>& arguments) {
  const bool making = arguments.size() == 3 && arguments[0] == "make";
  require<UsageError>(making || (arguments.size() == 2 && arguments[0] == "check"),
                      "expected: make DIR COUNT, or check DIR");
  if (making) {
    for (int seed = 0; seed < std::stoi(arguments[2]); ++seed)
      make(arguments[1], static_cast<std::uint64_t>(seed));
    return 0;
  }
  bool good = true;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(arguments[1])) {
    ++count;
    try {
      good &= check(entry.path());
    } catch (const Error& error) {
      std::printf("FAILED: %s: %s\n", entry.path().c_str(), error.what());
      good = false;
    }
  }
  std::printf("%d nets\n", count);
  return good && count > 0 ? 0 : 1;
}

}  // namespace
}  // namespace ronde::test

int main(int argc, char** argv) {
  try {
    return ronde::test::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
