#include <gtest/gtest.h>

#include <filesystem>

#include <ronde/core/random.h>
#include <ronde/models/file_io.h>
#include <ronde/models/model_checkpoint.h>
#include <ronde/models/saved_model.h>
#include <ronde/nn/adadelta.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/bidirectional.h>
#include <ronde/nn/depthwise_conv2d.h>
#include <ronde/nn/global_average_pooling2d.h>
#include <ronde/nn/graph.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>

#include "json/json.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

std::unique_ptr<Sequential> rich_net() {
  return std::make_unique<Sequential>(Conv2D({.filters = 4, .padding = Padding::same}), BatchNormalization(),
                                      DepthwiseConv2D({.depth_multiplier = 2}), Flatten(),
                                      Dense({.units = 3, .activation = Activation::softmax}));
}

void expect_same_state(Model& a, Model& b) {
  EXPECT_EQ(a.weights_sha256(), b.weights_sha256());
  EXPECT_EQ(a.arena().values().to_vector<double>(), b.arena().values().to_vector<double>());
  EXPECT_EQ(a.arena().buffers().to_vector<double>(), b.arena().buffers().to_vector<double>());
  EXPECT_EQ(a.optimizer().iterations(), b.optimizer().iterations());
  EXPECT_EQ(a.optimizer().learning_rate(), b.optimizer().learning_rate());
  const auto x = a.optimizer().slots(), y = b.optimizer().slots();
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(x[i].values.to_vector<double>(), y[i].values.to_vector<double>()) << x[i].name;
}

TEST(ModelFiles, RoundTripIsExactWithOptimizerState) {
  const TempDir dir;
  const InMemoryDataset data = small_images(20);
  for (const DType dtype : {DType::f32, DType::f64}) {
    const ModelOptions options{.seed = 3, .dtype = dtype, .backend = &backend("cpu")};
    Model trained(rich_net(), {6, 6, 1}, options);
    trained.compile({.optimizer = std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = 0.3}),
                     .loss = std::make_unique<CategoricalCrossentropy>()});
    trained.fit(data, {.batch_size = 8, .epochs = 2, .verbose = 0});
    trained.save(dir / "model.h5");

    Model other(rich_net(), {6, 6, 1}, {.seed = 4, .dtype = dtype, .backend = &backend("cpu")});
    other.compile({.optimizer = std::make_unique<Adadelta>(AdadeltaOptions{.learning_rate = 1.0}),
                   .loss = std::make_unique<CategoricalCrossentropy>()});
    const std::uint64_t version = other.arena().version();
    other.load_weights(dir / "model.h5");
    expect_same_state(trained, other);
    EXPECT_GT(other.arena().version(), version);
    EXPECT_EQ(other.progress().epochs, 2);
    EXPECT_EQ(other.progress().steps, 6);

    Model loaded = Model::load(dir / "model.h5", options);
    expect_same_state(trained, loaded);
    // The same steps from here on.
    const FitOptions more{.batch_size = 8, .epochs = 3, .initial_epoch = 2, .verbose = 0};
    trained.fit(data, more);
    loaded.fit(data, more);
    EXPECT_EQ(trained.weights_sha256(), loaded.weights_sha256());
  }
}

TEST(ModelFiles, EqualStateGivesEqualBytes) {
  const TempDir dir;
  Model model = small_model();
  model.save(dir / "a.h5");
  model.save(dir / "b.h5");
  EXPECT_TRUE(read_file(dir / "a.h5") == read_file(dir / "b.h5"));
}

TEST(ModelFiles, AnotherOptimizerIsLeftAsItIs) {
  const TempDir dir;
  Model adam = small_model();
  adam.fit(small_images(8), {.verbose = 0});
  adam.save(dir / "adam.h5");
  Model sgd(small_net(), {6, 6, 1}, {.seed = 9});
  sgd.compile({.optimizer = std::make_unique<SGD>(SGDOptions{.learning_rate = 0.5, .momentum = 0.9}),
               .loss = std::make_unique<CategoricalCrossentropy>()});
  sgd.load_weights(dir / "adam.h5");
  EXPECT_EQ(sgd.weights_sha256(), adam.weights_sha256());
  EXPECT_EQ(sgd.optimizer().learning_rate(), 0.5);
  EXPECT_EQ(sgd.optimizer().iterations(), 0);
}

TEST(ModelFiles, AnotherNetIsRefusedBeforeAnythingIsAssigned) {
  const TempDir dir;
  small_model().save(dir / "model.h5");
  auto wider = std::make_unique<Sequential>(Conv2D({.filters = 4}), Flatten(), Dense({.units = 3}));
  Model model(std::move(wider), {6, 6, 1}, {.seed = 1});
  const std::string before = model.weights_sha256();
  EXPECT_EQ(message_of<Error>([&] { model.load_weights(dir / "model.h5"); }),
            dir / "model.h5" + ": is of another net: layer dense has kernel (16, 3), this net has (64, 3)");
  EXPECT_EQ(model.weights_sha256(), before);

  Model fewer(std::make_unique<Sequential>(Flatten(), Dense({.units = 3})), {6, 6, 1});
  EXPECT_EQ(message_of<Error>([&] { fewer.load_weights(dir / "model.h5"); }),
            dir / "model.h5" + ": is of another net: has 2 layers with weights, this net has 1");
  Model no_bias(std::make_unique<Sequential>(Conv2D({.filters = 4, .use_bias = false}), MaxPooling2D(),
                                             Flatten(), Dense({.units = 3})),
                {6, 6, 1});
  EXPECT_EQ(
      message_of<Error>([&] { no_bias.load_weights(dir / "model.h5"); }),
      dir / "model.h5" + ": is of another net: layer conv2d has 2 weights, layer conv2d of this net has 1");
}

ExitStatus status_of(const std::string& path) {
  try {
    Model::load(path);
  } catch (const Error& error) {
    return error.status();
  }
  return ExitStatus::ok;
}

TEST(ModelFiles, MissingAndDamagedFilesHaveTheirExitStatus) {
  const TempDir dir;
  EXPECT_EQ(status_of(dir / "missing.h5"), ExitStatus::io);
  atomic_write_file(dir / "text.h5", "no model");
  EXPECT_EQ(status_of(dir / "text.h5"), ExitStatus::bad_input);
  small_model().save(dir / "model.h5");
  EXPECT_EQ(status_of(dir / "model.h5"), ExitStatus::ok);
  const std::string bytes = read_file(dir / "model.h5");
  atomic_write_file(dir / "cut.h5", bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(status_of(dir / "cut.h5"), ExitStatus::bad_input);
}

TEST(ModelFiles, DescriptionsThatAreNoSequentialAreRefused) {
  const TempDir dir;
  SavedModel file;
  write_saved_model(dir / "weights.h5", file);
  EXPECT_EQ(status_of(dir / "weights.h5"), ExitStatus::bad_input);
  file.model_config = ConfigDict{{"class_name", "Subclassed"}, {"config", ConfigDict{}}};
  write_saved_model(dir / "subclassed.h5", file);
  const std::string message = message_of<Error>([&] { Model::load(dir / "subclassed.h5"); });
  EXPECT_NE(message.find("is a Subclassed model; only Sequential"), std::string::npos) << message;
}

TEST(ModelFiles, FailedSaveIsThrownOnAllRanksAndKeepsTheOldFile) {
  const TempDir dir;
  atomic_write_file(dir / "file", "x");
  const auto errors = test::run_ranks_collecting(3, [&](Communicator& world) {
    Model model = small_model({.communicator = &world});
    model.save(dir / "file/model.h5");
  });
  for (const auto& error : errors) {
    ASSERT_TRUE(error);
    try {
      std::rethrow_exception(error);
    } catch (const Error& e) {
      EXPECT_EQ(e.status(), ExitStatus::io);
    }
  }
  EXPECT_EQ(read_file(dir / "file"), "x");
}

TEST(ModelFiles, AllRanksLoadWhatRankZeroReads) {
  const TempDir dir;
  Model alone = small_model({.seed = 12});
  alone.fit(small_images(8), {.verbose = 0});
  alone.save(dir / "model.h5");
  std::vector<std::string> hashes(3);
  test::run_ranks(3, [&](Communicator& world) {
    // Only rank 0 may touch the file: the others ask for one that is not there.
    const std::string path = world.rank() == 0 ? dir / "model.h5" : dir / "not there.h5";
    Model model = Model::load(path, {.communicator = &world});
    EXPECT_EQ(model.optimizer().iterations(), alone.optimizer().iterations());
    EXPECT_EQ(model.progress().steps, 1);
    model.save(world.rank() == 0 ? dir / "again.h5" : dir / "other.h5");
    hashes[static_cast<std::size_t>(world.rank())] = model.weights_sha256();
  });
  for (const std::string& hash : hashes) EXPECT_EQ(hash, alone.weights_sha256());
  EXPECT_FALSE(std::filesystem::exists(dir / "other.h5"));
  EXPECT_TRUE(read_file(dir / "again.h5") == read_file(dir / "model.h5"))
      << "the number of ranks shows in the file";
}

struct Own : Module {
  Dense hidden{{.units = 4, .activation = Activation::relu}};
  Dense out{{.units = 3, .activation = Activation::softmax}};
  Variable scale;
  explicit Own(bool other_name = false) {
    add_module(other_name ? "deep" : "hidden", hidden);
    add_module("out", out);
  }
  Variable forward(const Variable& x, const Context& context) override {
    return out(hidden(x, context), context);
  }
};

TEST(ModelFiles, OwnModulesAreSavedByName) {
  const TempDir dir;
  Own net;
  Model model(net, {5}, {.seed = 1});
  model.save(dir / "own.h5");
  const SavedModel file = read_saved_model(dir / "own.h5");
  EXPECT_TRUE(file.model_config.is_null());
  ASSERT_EQ(file.layers.size(), 2u);
  EXPECT_EQ(file.layers[0].name, "hidden");
  EXPECT_EQ(file.layers[0].weights[0].name, "hidden/kernel:0");

  Own same, other(true);
  Model loaded(same, {5}, {.seed = 2}), refused(other, {5}, {.seed = 2});
  loaded.load_weights(dir / "own.h5");
  EXPECT_EQ(loaded.weights_sha256(), model.weights_sha256());
  EXPECT_EQ(message_of<Error>([&] { refused.load_weights(dir / "own.h5"); }),
            dir / "own.h5" + ": is of another net: has no weight deep/kernel, this net has");
  EXPECT_EQ(status_of(dir / "own.h5"), ExitStatus::bad_input);
}

// The names that its weights have in the other one are not those of the optimizer's state.
TEST(ModelFiles, ANetThatHasBecomeAPartOfAnotherIsSavedAsItIs) {
  const TempDir dir;
  Sequential net(Dense({.units = 2}), Dense({.units = 2}));
  Model model(net, {2});
  model.compile({.optimizer = std::make_unique<Adam>(), .loss = make_loss("mse")});
  const Tensor x = Tensor::full({3, 2}, 0.5);
  model.train_on_batch(x, Tensor::zeros({3, 2}));
  Graph other;
  other.output(other.add(Dense({.units = 1}), other.add(net, other.input())));
  for (const char* name : {"model.h5", "model.keras"}) {
    model.save(dir / name);
    Model loaded = Model::load(dir / name);
    EXPECT_EQ(loaded.predict(x).to_vector<float>(), model.predict(x).to_vector<float>());
    EXPECT_EQ(loaded.optimizer().slots()[0].values.to_vector<float>(),
              model.optimizer().slots()[0].values.to_vector<float>());
    model.load_weights(dir / name);
    EXPECT_EQ(model.optimizer().iterations(), 1);
  }
  model.save(dir / "for_keras.keras", {.keras_optimizer_state = KerasOptimizerState::keras3});
  const SavedModel file = read_saved_model(dir / "for_keras.keras");
  EXPECT_EQ(file.optimizer_weights.size(), 2u + 2u * 4u);  // count, rate; two slots of each weight
}

TEST(ModelFiles, SaveWeightsLeavesOutTheRest) {
  const TempDir dir;
  Model model = small_model();
  model.save_weights(dir / "weights.h5");
  const SavedModel file = read_saved_model(dir / "weights.h5");
  EXPECT_TRUE(file.model_config.is_null());
  EXPECT_TRUE(file.training_config.is_null());
  EXPECT_FALSE(file.state.has_value());
  Model other = small_model({.seed = 8});
  other.load_weights(dir / "weights.h5");
  EXPECT_EQ(other.weights_sha256(), model.weights_sha256());
}

TEST(ModelFiles, HasExactlyTheKeysThatKeras2And3Know) {
  const TempDir dir;
  small_model().save(dir / "model.h5");
  const SavedModel file = read_saved_model(dir / "model.h5");
  const ConfigList& layers = file.model_config.at("config").at("layers").as_list();
  ASSERT_EQ(layers.size(), 6u);
  EXPECT_EQ(layers[0].at("class_name").as_string(), "InputLayer");
  const ConfigList& shape = layers[0].at("config").at("batch_input_shape").as_list();
  ASSERT_EQ(shape.size(), 4u);
  EXPECT_TRUE(shape[0].is_null());
  EXPECT_EQ(shape[1].as_int(), 6);
  EXPECT_EQ(layers[0].at("config").find("batch_shape"), nullptr);
  for (const ConfigValue& layer : layers) {
    EXPECT_EQ(layer.find("module"), nullptr);
    EXPECT_EQ(layer.at("config").at("dtype").as_string(), "float32");
  }
  const ConfigValue& optimizer = file.training_config.at("optimizer_config");
  EXPECT_EQ(optimizer.at("class_name").as_string(), "Adam");
  for (const char* key : {"weight_decay", "jit_compile", "loss_scale_factor", "is_legacy_optimizer"})
    EXPECT_EQ(optimizer.at("config").find(key), nullptr) << key;
  ASSERT_NE(file.training_config.find("loss_weights"), nullptr);
}

TEST(ModelFiles, AnOpenInputGetsItsShapeFromTheOptions) {
  const TempDir dir;
  Model model(std::make_unique<Sequential>(Conv2D({.filters = 2}), GlobalAveragePooling2D()), {5, 5, 3});
  model.save(dir / "m.h5");
  SavedModel file = read_saved_model(dir / "m.h5");
  std::string config = to_json(file.model_config);
  const std::string closed = "[null,5,5,3]";
  config.replace(config.find(closed), closed.size(), "[null,null,null,3]");
  file.model_config = from_json(config);
  write_saved_model(dir / "open.h5", file);
  const auto error = [&](const std::optional<Shape>& shape) {
    const std::string path = dir / "open.h5";
    const std::string message = message_of<Error>([&] { Model::load(path, {.input_shape = shape}); });
    return message.substr(message.find(path) + path.size());
  };
  EXPECT_EQ(error({}), ": its input shape leaves axis 1 open: give one to load, as ModelOptions.input_shape");
  EXPECT_EQ(error(Shape{7, 6, 1}), ": its input shape is (7, 6, 3), not (7, 6, 1)");
  EXPECT_NE(error(Shape{7}), "");
  const Tensor x = Tensor::full({1, 7, 6, 3}, 0.5);
  Model loaded = Model::load(dir / "open.h5", {.input_shape = Shape{7, 6, 3}});
  EXPECT_EQ(loaded.module().input_shape(), (Shape{7, 6, 3}));
  loaded.save(dir / "again.h5");
  EXPECT_EQ(Model::load(dir / "again.h5").predict(x).to_vector<float>(),
            loaded.predict(x).to_vector<float>());
}

// Note [hard_sigmoid]
TEST(ModelFiles, TheTwoHardSigmoidsAreNotTakenForEachOther) {
  const TempDir dir;
  Model model(std::make_unique<Sequential>(Dense({.units = 3, .activation = Activation::hard_sigmoid}),
                                           Dense({.units = 2, .activation = Activation::hard_silu})),
              {4});
  const Tensor x = Tensor::from<float>({2, 4}, {1, -2, 3, 4, -5, 6, 7, -8});
  for (const char* name : {"m.h5", "m.keras"}) {
    SCOPED_TRACE(name);
    const std::string path = dir / name;
    model.save(path);
    EXPECT_EQ(Model::load(path).predict(x).to_vector<float>(), model.predict(x).to_vector<float>());
    SavedModel file = read_saved_model(path);
    const ConfigList& layers = file.model_config.at("config").at("layers").as_list();
    const ConfigValue& function = layers.at(1).at("config").at("activation");
    EXPECT_EQ(to_json(function), R"({"module":"keras.ops","class_name":"function","config":"hard_sigmoid",)"
                                 R"("registered_name":"hard_sigmoid"})");

    file.layers_by_class = file.layers;
    file.model_config = ConfigDict{{"class_name", "Sequential"}, {"config", model.module().config()}};
    file.keras_version = "3.15.1";
    write_saved_model(path, file);
    EXPECT_EQ(Model::load(path).predict(x).to_vector<float>(), model.predict(x).to_vector<float>());
    file.keras_version = "2.15.0";
    write_saved_model(path, file);
    EXPECT_EQ(message_of<Error>([&] { Model::load(path); }),
              cat(path,
                  ": layer \"dense\": the hard_sigmoid of Keras 2, which is another function than Keras "
                  "3's, is not supported"));
  }
}

/// Of `net` with the string `from` as `to`, wherever it stands.
ConfigValue with_text(const ConfigValue& net, const std::string& from, const std::string& to) {
  std::string text = to_json(net);
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return from_json(text);
}

// Weights of a recurrent layer are its cell's in Keras' files, and a Bidirectional's those of two layers.
TEST(ModelFiles, RecurrentLayersKeepWeightsAndOptions) {
  const TempDir dir;
  Model model(
      std::make_unique<Sequential>(Bidirectional(LSTM({.units = 2,
                                                       .recurrent_activation = Activation::hard_sigmoid,
                                                       .dropout = 0.5,
                                                       .return_sequences = true})),
                                   GRU({.units = 3, .reset_after = false})),
      {4, 2}, {.seed = 3});
  model.module().children()[1]->set_trainable(false);
  const Tensor x = random_normal({2, 4, 2}, {.name = "x"});
  for (const char* name : {"m.h5", "m.keras"}) {
    SCOPED_TRACE(name);
    const std::string path = dir / name;
    model.save(path);
    Model loaded = Model::load(path);
    EXPECT_EQ(loaded.weights_sha256(), model.weights_sha256());
    EXPECT_EQ(loaded.predict(x).to_vector<float>(), model.predict(x).to_vector<float>());
    EXPECT_EQ(loaded.module().parameter_count(true), 2 * (2 * 8 + 2 * 8 + 8));

    std::vector<std::string> lines;
    SavedModel file = read_saved_model(path);
    EXPECT_NE(to_json(file.model_config).find(R"("recurrent_activation":{"module":"keras.ops",)"),
              std::string::npos);
    const ConfigValue described =
        ConfigDict{{"class_name", "Sequential"}, {"config", model.module().config()}};
    file.layers_by_class = file.layers;
    file.model_config = with_text(described, "Orthogonal", "Identity");
    file.keras_version = "3.15.1";
    write_saved_model(path, file);
    Model::load(path, {.warn = [&](const std::string& line) { lines.push_back(line); }});
    EXPECT_EQ(lines, std::vector<std::string>{
                         cat(path,
                             ": recurrent_initializer of forward_layer, recurrent_initializer of gru: not "
                             "supported; the weights are the file's, but what is saved here names another")});
    file.model_config = described;
    file.keras_version = "2.15.0";
    write_saved_model(path, file);
    EXPECT_EQ(
        message_of<Error>([&] { Model::load(path); }),
        cat(path,
            ": layer \"forward_layer\": the hard_sigmoid of Keras 2, which is another function than Keras "
            "3's, is not supported"));
  }
  std::vector<std::string> groups;
  model.save_weights(dir / "m.weights.h5");
  for (const SavedLayer& layer : read_saved_model(dir / "m.weights.h5").layers) groups.push_back(layer.name);
  EXPECT_EQ(groups, (std::vector<std::string>{"layers/bidirectional/backward_layer/cell",
                                              "layers/bidirectional/forward_layer/cell", "layers/gru/cell"}));
}

// Who gives another format's ending wants that format, not HDF5 by its name.
TEST(ModelFiles, OtherFormatsEndingsAreRefused) {
  const TempDir dir;
  Model model = small_model();
  for (const char* ending : {".onnx", ".pt", ".tflite", ".pb", ".json", ".npz", ".safetensors"}) {
    const std::string path = dir / cat("net", ending);
    const std::string message = message_of<UsageError>([&] { model.save(path); });
    EXPECT_TRUE(message.starts_with(cat("[save] ", path, ": ", ending, " is another format."))) << message;
    for (const char* advice : {".h5", ".keras", "save_weights", "write_onnx", "`ronde export`"})
      EXPECT_NE(message.find(advice), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_THROW(ModelCheckpoint({.filepath = path}), UsageError);
  }
  EXPECT_THROW(model.save_weights(dir / "net.onnx"), UsageError);
  for (const char* fine : {"net", "net.hdf5", "net.epoch-3", "onnx"}) {
    model.save(dir / fine);
    EXPECT_EQ(Model::load(dir / fine).weights_sha256(), model.weights_sha256()) << fine;
  }
}

}  // namespace
}  // namespace ronde::test
