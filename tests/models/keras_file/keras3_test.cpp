// .keras and .weights.h5, and Keras' own state of the optimizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include <ronde/data/zip.h>
#include <ronde/models/file_io.h>
#include <ronde/models/saved_model.h>
#include <ronde/models/weights_npz.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/layer_scale.h>

#include "models/interop/random_net.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// A net made, trained and saved by a Keras, with its predictions, before and after one more step.
class KerasNet : public ::testing::TestWithParam<std::string> {
 protected:
  std::string file(const std::string& name) const { return golden("files_keras" + GetParam() + "/" + name); }
  NamedTensors io_ = read_npz(file("io.npz"));
};

TEST_P(KerasNet, Predicts) {
  Model model = Model::load(file("net.keras"));
  EXPECT_LE(largest_difference(model.predict(io_.at("input")), io_.at("output")), 1e-5);
}

TEST_P(KerasNet, TakesWeightsAlone) {
  Model model = Model::load(file("net.keras"));
  for (Parameter& weight : model.module().parameters())
    weight.variable.assign(Tensor::full(weight.variable.shape(), 0.5));
  model.load_weights(file("net.weights.h5"));
  EXPECT_LE(largest_difference(model.predict(io_.at("input")), io_.at("output")), 1e-5);
}

TEST_P(KerasNet, TrainsOnWithItsOptimizer) {
  Model model = Model::load(file("net.keras"));
  EXPECT_EQ(model.optimizer().iterations(), static_cast<std::int64_t>(io_.at("iterations").item()));
  if (!io_.contains("output_after_step")) return;
  model.train_on_batch(io_.at("train_input"), io_.at("labels"));
  EXPECT_LE(largest_difference(model.predict(io_.at("input")), io_.at("output_after_step")), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Files, KerasNet,
                         ::testing::Values("2.15.0/1", "2.15.0/2", "2.15.0/4", "2.15.0/26", "2.15.0/43",
                                           "3.15.1/1", "3.15.1/2", "3.15.1/4", "3.15.1/23", "3.15.1/26",
                                           "3.15.1/43"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return c == '.' || c == '/'; }, '_');
                           return name;
                         });

/// Layers of a net that is frozen in another one.
std::vector<bool> flags_of_base(Model& model) {
  const Module& base = *model.module().children().front();
  EXPECT_EQ(base.name(), "base");
  std::vector<bool> flags{base.trainable()};
  for (const Module* layer : base.children()) flags.push_back(layer->trainable());
  return flags;
}

class FrozenNet : public ::testing::TestWithParam<const char*> {
 protected:
  std::string folder_ = golden("frozen_net_keras3.15.1/");
  NamedTensors io_ = read_npz(folder_ + "io.npz");
  const std::vector<bool> flags_{false, false, false, true};
};

TEST_P(FrozenNet, IsTrainedWhereItsLayersSay) {
  Model model = Model::load(folder_ + GetParam());
  EXPECT_EQ(flags_of_base(model), flags_);
  EXPECT_EQ(model.module().parameter_count(true), 4 * 4 + 4 + 4 * 3 + 3);
  EXPECT_LE(largest_difference(model.predict(io_.at("input")), io_.at("output")), 1e-6);
  EXPECT_EQ(model.optimizer().iterations(), 2);
  const InMemoryDataset data(io_.at("input"), io_.at("label"));
  model.fit(data, {.batch_size = 6, .shuffle = false, .verbose = 0});
  EXPECT_LE(largest_difference(model.predict(io_.at("input")), io_.at("output_after_epoch")), 1e-5);
}

TEST_P(FrozenNet, KeepsTheFlagsOfItsLayers) {
  const TempDir dir;
  Model model = Model::load(folder_ + GetParam());
  model.save(dir / GetParam());
  Model again = Model::load(dir / GetParam());
  EXPECT_EQ(flags_of_base(again), flags_);
  EXPECT_EQ(again.weights_sha256(), model.weights_sha256());
}

INSTANTIATE_TEST_SUITE_P(Files, FrozenNet, ::testing::Values("net.keras", "net.h5"),
                         [](const auto& test) { return std::string(test.param + 4); });

// Its weights lie in Keras 3's order, of which kernels of one shape tell nothing.
TEST(FrozenNetFile, IsWrittenInTheOrderOfKeras) {
  const TempDir dir;
  const std::string keras = golden("frozen_net_keras3.15.1/net.h5");
  Model::load(keras).save(dir / "net.h5");
  const auto names = [](const std::string& path) {
    std::string all;
    for (const SavedLayer& layer : read_saved_model(path).layers)
      for (const SavedWeight& weight : layer.weights)
        all += weight.name.substr(weight.name.rfind("/") - 4) + " ";
    return all;
  };
  std::string expected = names(keras);
  for (std::size_t at = 0; (at = expected.find(' ', at)) != std::string::npos; at += 3)
    expected.insert(at, ":0");
  EXPECT_EQ(names(dir / "net.h5"), expected);
}

// As Keras 2 has it: the trained layer of the frozen net first. Names that tell nothing leave the order.
TEST(FrozenNetFile, IsReadInTheOtherOrderToo) {
  const TempDir dir;
  const std::string keras = golden("frozen_net_keras3.15.1/net.h5");
  const std::string expected = Model::load(keras).weights_sha256();
  const auto sha256_of = [&](const std::function<void(std::vector<SavedWeight>&)>& change) {
    SavedModel file = read_saved_model(keras);
    const auto base = std::find_if(file.layers.begin(), file.layers.end(),
                                   [](const SavedLayer& layer) { return layer.weights.size() > 2; });
    change(base->weights);
    write_saved_model(dir / "net.h5", file);
    return Model::load(dir / "net.h5").weights_sha256();
  };
  EXPECT_EQ(sha256_of([](auto& weights) { std::rotate(weights.begin(), weights.end() - 2, weights.end()); }),
            expected);
  EXPECT_EQ(sha256_of([](auto& weights) {
              for (std::size_t i = 0; i < weights.size(); ++i) weights[i].name = cat("weight_", i);
            }),
            expected);
}

TEST(KerasFiles, OperatorsOfPythonStandBetweenLayers) {
  const TempDir dir;
  const std::string folder = golden("operators_net_keras3.15.1/");
  const NamedTensors io = read_npz(folder + "io.npz");
  std::vector<std::string> warnings;
  Model model = Model::load(folder + "net.keras",
                            {.warn = [&](const std::string& warning) { warnings.push_back(warning); }});
  EXPECT_EQ(warnings, std::vector<std::string>());
  EXPECT_LE(largest_difference(model.predict(io.at("input")), io.at("output")), 1e-5);
  model.save(dir / "again.h5");
  EXPECT_LE(largest_difference(Model::load(dir / "again.h5").predict(io.at("input")), io.at("output")), 1e-5);
}

// As Keras has it for a model that is frozen as a whole, whatever its layers say.
TEST(KerasFiles, AWhollyFrozenNetTrainsNothing) {
  const TempDir dir;
  const std::string described = dir / "frozen.h5";
  SavedModel file = read_saved_model(golden("frozen_net_keras3.15.1/net.h5"));
  ConfigDict net = file.model_config.at("config").as_dict();
  for (auto& [key, value] : net)
    if (key == "trainable") value = false;
  file.model_config = ConfigDict{{"class_name", "Functional"}, {"config", net}};
  write_saved_model(described, file);
  EXPECT_EQ(Model::load(described).module().parameter_count(true), 0);
}

// A net of ours trains what its layers say, and so it does when it comes from a file.
TEST(KerasFiles, ANetThatWasFrozenButForItsHeadStaysSo) {
  const TempDir dir;
  auto graph = std::make_unique<Graph>();
  const Symbol hidden = graph->add(Dense({.units = 3}), graph->input());
  graph->output(graph->add(Dense({.units = 2, .name = "head"}), hidden));
  graph->set_trainable(false);
  graph->layers().back()->set_trainable(true);
  Model(std::move(graph), {4}).save(dir / "net.h5");
  EXPECT_EQ(Model::load(dir / "net.h5").module().parameter_count(true), 3 * 2 + 2);
}

TEST(KerasFiles, LegacyWeightsFitTheNetOfAnArchive) {
  const std::string directory = golden("files_keras2.15.0/1/");
  const NamedTensors io = read_npz(directory + "io.npz");
  Model model = Model::load(directory + "net.keras");
  for (Parameter& weight : model.module().parameters())
    weight.variable.assign(Tensor::full(weight.variable.shape(), 0.5));
  model.load_weights(directory + "legacy_weights.h5");
  EXPECT_LE(largest_difference(model.predict(io.at("input")), io.at("output")), 1e-5);
}

/// The order of the arrays in files of Keras: keras_optimizer.h.
TEST(KerasFiles, EachOptimizersStateLandsInItsSlots) {
  struct Case {
    const char* file;
    std::size_t skip;  // count, rate
    bool pairs;
  };
  for (const Case& c :
       {Case{"batchnorm_net_keras2.15.0.h5", 1, true}, Case{"batchnorm_net_keras3.15.1.h5", 2, true},
        Case{"mnist_cnn_keras2.15.0.h5", 1, true}, Case{"mnist_cnn_keras3.15.1.h5", 2, true},
        Case{"cifar10_cnn_keras2.15.0.h5", 1, false}, Case{"cifar10_cnn_keras3.15.1.h5", 2, false}}) {
    const SavedModel file = read_saved_model(golden(c.file));
    Model model = Model::load(golden(c.file));
    EXPECT_EQ(model.optimizer().iterations(), 8) << c.file;
    const TempDir dir;
    model.save(dir / "net.h5");
    const SavedModel own = read_saved_model(dir / "net.h5");
    const std::vector<SavedSlot>& slots = own.state->optimizer->slots;
    ASSERT_EQ(slots.size(), c.pairs ? 2u : 1u);
    std::size_t i = c.skip;
    for (const Parameter& weight : model.module().parameters()) {
      if (!weight.trainable) continue;
      for (const SavedSlot& slot : slots) {
        const auto found = std::find_if(slot.weights.begin(), slot.weights.end(),
                                        [&](const SavedWeight& w) { return w.name == weight.name; });
        ASSERT_NE(found, slot.weights.end());
        EXPECT_EQ(found->values.to_vector<float>(), file.optimizer_weights.at(i++).values.to_vector<float>())
            << c.file << " " << slot.name << " " << weight.name;
      }
    }
    EXPECT_EQ(i, file.optimizer_weights.size());
  }
}

std::vector<Shape> shapes(const std::vector<SavedWeight>& weights) {
  std::vector<Shape> result;
  for (const SavedWeight& weight : weights) result.push_back(weight.values.shape());
  return result;
}

// Kernel and bias of two layers: k, b, K, B. (Keras itself read these orders: interop_test.py.)
TEST(KerasFiles, TheOptimizersStateIsWrittenInTheOrderOfItsReader) {
  const TempDir dir;
  Model model = small_model();
  model.train_on_batch(random_images(4, {6, 6, 1}), Tensor::from<std::int32_t>({4}, {0, 1, 2, 0}));
  const Shape k{3, 3, 1, 4}, b{4}, K{16, 3}, B{3}, scalar{};
  const auto written = [&](const std::string& name, KerasOptimizerState state) {
    model.save(dir / name, {.keras_optimizer_state = state});
    return shapes(read_saved_model(dir / name).optimizer_weights);
  };
  EXPECT_EQ(written("a.h5", KerasOptimizerState::none), std::vector<Shape>{});
  EXPECT_EQ(written("b.h5", KerasOptimizerState::tf2), (std::vector<Shape>{scalar, k, b, K, B, k, b, K, B}));
  EXPECT_EQ(written("c.keras", KerasOptimizerState::tf2),
            (std::vector<Shape>{scalar, k, k, b, b, K, K, B, B}));
  EXPECT_EQ(written("d.keras", KerasOptimizerState::keras3),
            (std::vector<Shape>{scalar, scalar, k, k, b, b, K, K, B, B}));
  // Keras 3 has no variable for a rate that it computes.
  model.optimizer().set_schedule(std::make_shared<CosineDecay>(CosineDecayOptions{.initial_rate = 1.0}));
  EXPECT_EQ(written("f.keras", KerasOptimizerState::keras3),
            (std::vector<Shape>{scalar, k, k, b, b, K, K, B, B}));
  const std::string message = message_of<Error>([&] { written("e.h5", KerasOptimizerState::keras3); });
  EXPECT_NE(message.find("from a .keras file only"), std::string::npos) << message;
}

class Layouts : public ::testing::TestWithParam<int> {};

TEST_P(Layouts, KeepEverything) {
  const TempDir dir;
  const auto seed = static_cast<std::uint64_t>(GetParam());
  Model model = random_model(seed);
  const Tensor images = random_images(8, model.module().input_shape(), 0.3);
  for (const char* name : {"net.h5", "net.keras", "net.weights.h5"}) model.save(dir / name);
  model.train_on_batch(images, random_labels(8));
  const std::string after = model.weights_sha256();
  for (const char* name : {"net.h5", "net.keras", "net.weights.h5"}) {
    Model read = Model::load(dir / name);
    read.train_on_batch(images, random_labels(8));
    if (random_net(seed).repeatable) {
      EXPECT_EQ(read.weights_sha256(), after) << name;
    }
  }
  const std::string first = read_file(dir / "net.keras");
  Model::load(dir / "net.keras").save(dir / "again.keras");
  EXPECT_TRUE(read_file(dir / "again.keras") == first);
}

INSTANTIATE_TEST_SUITE_P(Nets, Layouts, ::testing::Values(0, 1, 4, 9, 12));

TEST(KerasFiles, ANetWithItsOwnForwardGoesByItsMembers) {
  struct Net : Module {
    Dense first{{.units = 3}}, second{{.units = 2}};
    Net() { add_module("first", first), add_module("second", second); }
    Variable forward(const Variable& x, const Context& c) override { return second(first(x, c), c); }
  };
  const TempDir dir;
  Net net, other;
  Model model(net, {4}, {.seed = 1}), loaded(other, {4}, {.seed = 2});
  model.save_weights(dir / "net.weights.h5");
  const SavedModel file = read_saved_model(dir / "net.weights.h5");
  ASSERT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(file.layers[0].name, "first");
  loaded.load_weights(dir / "net.weights.h5");
  EXPECT_EQ(loaded.weights_sha256(), model.weights_sha256());
  const std::string message = message_of<Error>([&] { model.save(dir / "net.keras"); });
  EXPECT_NE(message.find("a .keras file is a whole model"), std::string::npos) << message;
}

// Keras finds the classes of its applications by the modules that they are in.
TEST(KerasFiles, LayersOfApplicationsAreOfTheirModules) {
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  net->output(net->add(CustomScaleLayer(0.5), {x, net->add(LayerScale({.init_values = 0.25}), x)}));
  Model model(std::move(net), {3});
  const TempDir dir;
  model.save(dir / "net.keras");
  const std::vector<ZipEntry> entries = decode_zip(read_file(dir / "net.keras"), "net.keras");
  const auto config = std::find_if(entries.begin(), entries.end(),
                                   [](const ZipEntry& entry) { return entry.name == "config.json"; });
  for (const char* expected :
       {R"("module":"keras.src.applications.convnext","class_name":"LayerScale")",
        R"("module":"keras.src.applications.inception_resnet_v2","class_name":"CustomScaleLayer")"})
    EXPECT_NE(config->bytes.find(expected), std::string::npos) << config->bytes;
  const Tensor images = Tensor::from<float>({1, 3}, {1, 2, 3});
  EXPECT_EQ(Model::load(dir / "net.keras").predict(images).to_vector<float>(),
            model.predict(images).to_vector<float>());
}

TEST(KerasFiles, SayWhichLayerDiffers) {
  const TempDir dir;
  small_model().save_weights(dir / "net.weights.h5");
  const auto complaint = [&](std::unique_ptr<Sequential> net, const Shape& input) {
    Model model(std::move(net), input);
    const std::string before = model.weights_sha256();
    const std::string message = message_of<Error>([&] { model.load_weights(dir / "net.weights.h5"); });
    EXPECT_EQ(model.weights_sha256(), before);
    return message.substr(dir.path().size() + 1);
  };
  EXPECT_EQ(complaint(small_net(), {8, 8, 1}),
            "net.weights.h5: is of another net: layer layers/dense has weight 0 (16, 3), in this net it is "
            "dense/kernel (36, 3)");
  EXPECT_EQ(
      complaint(std::make_unique<Sequential>(Flatten(), Dense({.units = 3})), {4, 4, 1}),
      "net.weights.h5: is of another net: has weights of a layer layers/conv2d, which this net has not");
  auto deeper = small_net();
  deeper->add(Dense({.units = 2}));
  EXPECT_EQ(
      complaint(std::move(deeper), {6, 6, 1}),
      "net.weights.h5: is of another net: has no weights of a layer layers/dense_1, which this net has");
}

TEST(KerasFiles, AnUnknownLayerOrANoArchiveIsSaidSo) {
  const std::string bytes = read_file(golden("files_keras3.15.1/2/net.keras"));
  std::vector<ZipEntry> entries = decode_zip(bytes, "net.keras");
  const TempDir dir;
  const auto complaint = [&](const std::vector<ZipEntry>& changed) {
    atomic_write_file(dir / "x.keras", encode_zip(changed));
    return message_of<Error>([&] { Model::load(dir / "x.keras"); });
  };
  const auto config =
      std::find_if(entries.begin(), entries.end(), [](const auto& e) { return e.name == "config.json"; });
  const std::string good = config->bytes;
  config->bytes.replace(good.find("\"DepthwiseConv2D\""), 17, "\"MysteriousLayer\"");
  const std::string message = complaint(entries);
  EXPECT_NE(message.find(": class \"MysteriousLayer\" is not supported; known are "), std::string::npos)
      << message;
  EXPECT_NE(message.find("DepthwiseConv2D"), std::string::npos) << message;
  config->bytes = good;
  const std::string keras = R"("module": "keras.layers", "class_name": "DepthwiseConv2D")";
  const auto expect_refused = [&](const std::string& module, const std::string& registered,
                                  const std::string& named) {
    config->bytes = good;
    const std::size_t at = good.find(keras);
    const std::string none = R"("registered_name": null, "build_config")";
    config->bytes.replace(good.find(none, at), none.size(),
                          cat(R"("registered_name": )", registered, R"(, "build_config")"));
    config->bytes.replace(at, keras.size(),
                          cat(R"("module": )", module, R"(, "class_name": "DepthwiseConv2D")"));
    EXPECT_NE(complaint(entries).find(cat("class \"", named, "\" is not one of Keras")), std::string::npos)
        << complaint(entries);
  };
  expect_refused("null", R"("my>DepthwiseConv2D")", "my>DepthwiseConv2D");
  expect_refused(R"("training.nets")", R"("DepthwiseConv2D")", "training.nets.DepthwiseConv2D");
  expect_refused("null", "null", "__main__.DepthwiseConv2D");
  config->bytes = std::string("{");
  EXPECT_NE(complaint(entries).find("x.keras: not JSON"), std::string::npos);
  config->bytes = std::string("[]");
  EXPECT_NE(complaint(entries).find("x.keras: "), std::string::npos);
  entries.erase(config);
  EXPECT_NE(complaint(entries).find("x.keras: is a zip archive without config.json"), std::string::npos);
}

TEST(KerasFiles, CutArchivesAreInputErrors) {
  const TempDir dir;
  small_model().save(dir / "net.keras");
  const std::string bytes = read_file(dir / "net.keras");
  for (std::size_t length = 4; length < bytes.size(); length += 97)
    EXPECT_THROW(decode_saved_model(bytes.substr(0, length), "net.keras"), InputError) << length;
  for (std::size_t at = 40; at + 100 < bytes.size(); at += 211) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    EXPECT_THROW(decode_saved_model(damaged, "net.keras"), InputError) << at;
  }
}

}  // namespace
}  // namespace ronde::test
