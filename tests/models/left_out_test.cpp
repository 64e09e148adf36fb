// Model files with what is not known here: the net comes all the same, and what is left out is named.
#include <atomic>
#include <vector>

#include <ronde/models/saved_model.h>
#include <ronde/models/weights_npz.h>

#include "json/json.h"
#include "models/testing.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::test {
namespace {

using Lines = std::vector<std::string>;

/// Every value of this key, wherever it is.
ConfigValue with(const ConfigValue& tree, const std::string& key, const ConfigValue& value) {
  if (tree.is_list()) {
    ConfigList list;
    for (const ConfigValue& item : tree.as_list()) list.push_back(with(item, key, value));
    return list;
  }
  if (!tree.is_dict()) return tree;
  ConfigDict dict;
  for (const auto& [name, item] : tree.as_dict())
    dict.emplace_back(name, name == key ? value : with(item, key, value));
  return dict;
}

/// A trained model's file, of either kind, with another description.
class LeftOut : public ::testing::TestWithParam<const char*> {
 protected:
  LeftOut() {
    model_.fit(small_images(12), {.batch_size = 4, .verbose = 0});
    model_.save(path_);
    file_ = read_saved_model(path_);
  }
  void describe_training(const std::string& key, const std::string& json) {
    file_.training_config = with(file_.training_config, key, from_json(json));
  }
  /// Adds to the settings of the last layer.
  void describe_last_layer(const ConfigDict& settings) {
    ConfigDict config = file_.model_config.at("config").as_dict();
    for (auto& [key, value] : config) {
      if (key != "layers") continue;
      ConfigList layers = value.as_list();
      ConfigDict last = layers.back().as_dict();
      for (auto& [part, content] : last) {
        if (part != "config") continue;
        ConfigDict all = content.as_dict();
        all.insert(all.end(), settings.begin(), settings.end());
        content = all;
      }
      layers.back() = last;
      value = layers;
    }
    file_.model_config = ConfigDict{{"class_name", "Sequential"}, {"config", config}};
  }
  Model load(ModelOptions options = {}) {
    write_saved_model(path_, file_);
    options.warn = [this](const std::string& line) { lines_.push_back(line); };
    return Model::load(path_, options);
  }
  /// What is wrong with training `model` on.
  std::string refusal(Model& model) {
    const std::string why = message_of<UsageError>([&] { model.fit(small_images(4), {.verbose = 0}); });
    const std::string of_one = message_of<UsageError>([&] {
      model.train_on_batch(Tensor::zeros({1, 6, 6, 1}), Tensor::from<std::int32_t>({1}, {0}));
    });
    EXPECT_EQ(of_one.substr(of_one.find(']')), why.substr(why.find(']')));
    return why;
  }
  void expect_same_predictions(Model& loaded) {
    const Tensor images = Tensor::full({2, 6, 6, 1}, 0.5);
    EXPECT_EQ(loaded.predict(images).to_vector<float>(), model_.predict(images).to_vector<float>());
  }

  const TempDir dir_;
  const std::string path_ = dir_ / cat("model", GetParam());
  Model model_ = small_model();
  SavedModel file_;
  Lines lines_;
};

TEST_P(LeftOut, AnOptimizerIsNeededForTrainingOnly) {
  describe_training("optimizer_config", R"({"class_name": "Ftrl", "config": {"learning_rate": 0.1}})");
  Model loaded = load();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find(cat(path_, ": left out: optimizer class \"Ftrl\" is not supported")),
            std::string::npos)
      << lines_[0];
  EXPECT_FALSE(loaded.is_compiled());
  ASSERT_TRUE(loaded.has_loss());
  expect_same_predictions(loaded);
  const InMemoryDataset data = small_images(8);
  EXPECT_EQ(loaded.evaluate(data).logs.entries(), model_.evaluate(data).logs.entries());
  const std::string why = refusal(loaded);
  EXPECT_NE(why.find("[fit] "), std::string::npos) << why;
  EXPECT_NE(why.find("\"Ftrl\" is not supported"), std::string::npos) << why;
  EXPECT_NE(why.find("call compile"), std::string::npos) << why;
  loaded.save(path_);  // as a model that is not compiled
  EXPECT_FALSE(Model::load(path_).has_loss());
  loaded.compile(small_compile());
  EXPECT_EQ(loaded.fit(data, {.batch_size = 4, .verbose = 0}).epochs.size(), 1u);
}

TEST_P(LeftOut, OfAnOptimizerTheRateToo) {
  describe_training("learning_rate", R"({"class_name": "MySchedule", "config": {}})");
  Model loaded = load();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("[Adam] learning_rate: schedule \"MySchedule\" is not supported"),
            std::string::npos)
      << lines_[0];
  EXPECT_FALSE(loaded.is_compiled());
}

// Keras' evaluate adds what some of them cost to the loss, and its fit trains with them.
TEST_P(LeftOut, RegularizersAndConstraintsThatAreNotKnown) {
  const std::string orthogonal =
      R"({"class_name":"OrthogonalRegularizer","config":{"factor":0.01,"mode":"rows"}})";
  describe_last_layer({{"kernel_regularizer", from_json(orthogonal)},
                       {"bias_regularizer", from_json(R"({"class_name": "my>L2", "config": {"l2": 0.5}})")},
                       {"activity_regularizer", from_json(R"({"class_name": "L2", "config": {"l2": 0.5}})")},
                       {"kernel_constraint", from_json(R"({"class_name": "NonNeg", "config": {}})")}});
  const std::string named =
      "kernel_regularizer of dense, bias_regularizer of dense, activity_regularizer of dense, "
      "kernel_constraint of dense";
  const auto line = [&](const std::string& path) {
    return cat(path, ": ", named,
               ": not supported, so no part of loss or training here; kept in what is saved");
  };
  const auto refused = [&](const std::string& path) {
    return cat("[fit] ", path, ": ", named, " would not be trained with; call compile to train this model");
  };
  Model loaded = load();
  EXPECT_EQ(lines_, Lines{line(path_)});
  EXPECT_TRUE(loaded.is_compiled());
  expect_same_predictions(loaded);
  EXPECT_EQ(refusal(loaded), refused(path_));

  // Through files of both kinds, and still refused.
  std::string path = path_;
  for (const char* next : {"next.keras", "next.h5", "last.keras"}) {
    Model::load(path, {.warn = [](const std::string&) {}}).save(dir_ / next);
    path = dir_ / next;
    lines_.clear();
    Model copy = Model::load(path, {.warn = [this](const std::string& said) { lines_.push_back(said); }});
    EXPECT_EQ(lines_, Lines{line(path)});
    EXPECT_EQ(refusal(copy), refused(path));
    const ConfigDict kept = copy.module().children().back()->left_out();
    ASSERT_EQ(kept.size(), 4u);
    EXPECT_EQ(to_json(kept[0].second.at("config")), R"({"factor":0.01,"mode":"rows"})");
    EXPECT_EQ(kept[0].second.at("class_name").as_string(), "OrthogonalRegularizer");
    const ConfigValue* registered = kept[1].second.find("registered_name");
    EXPECT_EQ((registered ? *registered : kept[1].second.at("class_name")).as_string(), "my>L2");
  }
  loaded.compile(small_compile());
  EXPECT_EQ(loaded.fit(small_images(8), {.batch_size = 4, .verbose = 0}).epochs.size(), 1u);
}

// A later Keras may know them.
TEST_P(LeftOut, OptionsThatAreNotKnown) {
  describe_last_layer(
      {{"fused", ConfigValue(3)}, {"own", from_json(R"({"class_name": "Own", "config": {}})")}});
  std::string path = path_;
  for (const char* next : {"next.keras", "next.h5", "last.keras"}) {
    Model loaded = path == path_ ? load() : Model::load(path, {.warn = [this](const std::string& said) {
                                                          lines_.push_back(said);
                                                        }});
    EXPECT_EQ(lines_, Lines{cat(path,
                                ": fused of dense, own of dense: not known here, so without effect; kept "
                                "in what is saved")});
    lines_.clear();
    EXPECT_EQ(to_json(ConfigValue(loaded.module().children().back()->left_out())),
              R"({"fused":3,"own":{"class_name":"Own","config":{}}})");
    expect_same_predictions(loaded);
    loaded.save(dir_ / next);
    path = dir_ / next;
  }
  load().fit(small_images(8), {.batch_size = 4, .verbose = 0});  // it may be trained on
}

// What a .keras file says of an object stays as it is: Keras finds a program's own by these names.
TEST(LeftOutArchive, KeepsObjectsAsTheyWere) {
  const TempDir dir;
  const std::vector<std::pair<std::string, std::string>> own{
      {"kernel_regularizer",
       R"({"module":"training","class_name":"L2","config":{"l2":0.5},"registered_name":"my>L2"})"},
      {"fused",
       R"({"module":"my.layers","class_name":"Fused","config":{"of":[{"module":"my","class_name":"X",)"
       R"("config":{},"registered_name":"my>X"}]},"registered_name":null})"}};
  Model model(std::make_unique<Sequential>(Dense({.units = 2})), {3});
  ConfigDict options;
  for (const auto& [key, json] : own) options.emplace_back(key, from_json(json));
  model.module().children().front()->set_left_out(options);
  model.save(dir / "first.keras");
  std::string path = dir / "first.keras";
  for (const char* next : {"next.keras", "next.h5", "last.keras"}) {
    Model loaded = Model::load(path, {.warn = [](const std::string&) {}});
    const ConfigDict& kept = loaded.module().children().front()->left_out();
    ASSERT_EQ(kept.size(), own.size()) << path;
    for (std::size_t k = 0; k < own.size(); ++k) EXPECT_EQ(to_json(kept[k].second), own[k].second) << path;
    loaded.save(dir / next);
    path = dir / next;
  }
}

TEST_P(LeftOut, LossesAndMetricsAreNamed) {
  describe_training("metrics", R"(["accuracy", {"class_name": "MeanIoU", "config": {"num_classes": 3}},
                                   {"class_name": "MeanSquaredError", "config": {"name": "loss"}}])");
  describe_training("weighted_metrics", R"([{"class_name": "MeanIoU", "config": {"num_classes": 2}}])");
  Model loaded = load();
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_NE(lines_[0].find("metric \"MeanIoU\" is not supported"), std::string::npos) << lines_[0];
  EXPECT_NE(lines_[1].find("a metric that is called loss"), std::string::npos) << lines_[1];
  EXPECT_NE(lines_[2].find("metric \"MeanIoU\" is not supported"), std::string::npos) << lines_[2];
  EXPECT_EQ(loaded.evaluate(small_images(8)).logs.entries(), model_.evaluate(small_images(8)).logs.entries());
  EXPECT_TRUE(loaded.is_compiled());
  loaded.fit(small_images(8), {.batch_size = 4, .verbose = 0});  // metrics train nothing

  lines_.clear();
  describe_training("weighted_metrics", "null");
  describe_training("metrics", "null");
  describe_training("loss", R"("categorical_hinge")");
  Model without_loss = load();
  ASSERT_EQ(lines_.size(), 1u);
  EXPECT_NE(lines_[0].find("loss \"categorical_hinge\" is not supported"), std::string::npos) << lines_[0];
  EXPECT_FALSE(without_loss.has_loss());
  expect_same_predictions(without_loss);
  const std::string why = message_of<UsageError>([&] { without_loss.evaluate(small_images(8)); });
  EXPECT_NE(why.find(cat("not compiled, so it has no loss; ", path_, ": loss \"categorical_hinge\" is not")),
            std::string::npos)
      << why;
  EXPECT_NE(refusal(without_loss).find("\"categorical_hinge\" is not supported"), std::string::npos);
}

// Without them the loss and its gradients are others.
TEST_P(LeftOut, WeightsOfLossesAreNamedAndStopTraining) {
  describe_training("loss_weights", "[0.5]");
  Model loaded = load();
  EXPECT_EQ(lines_, Lines{cat(path_, ": left out: loss_weights [0.5]")});
  EXPECT_TRUE(loaded.is_compiled());
  EXPECT_EQ(refusal(loaded), cat("[fit] ", path_,
                                 ": loss_weights [0.5] would not be trained with; call compile to train this "
                                 "model"));
}

TEST_P(LeftOut, WhatAnOptimizerDoesBesideItsUpdates) {
  describe_training("optimizer_config",
                    R"({"class_name": "Adam", "config": {"gradient_accumulation_steps": 2}})");
  Model loaded = load();
  EXPECT_EQ(lines_, Lines{cat(path_,
                              ": left out: [Adam] gradient_accumulation_steps: 2 is not supported here, only "
                              "as `fit`'s backward_passes_per_step")});
  EXPECT_NE(refusal(loaded).find("gradient_accumulation_steps"), std::string::npos);
}

// Keras writes it so when it was compiled with a list or a dict of the outputs.
TEST_P(LeftOut, NotALossOfTheOneOutput) {
  const InMemoryDataset data = small_images(8);
  for (const char* loss :
       {R"(["sparse_categorical_crossentropy"])", R"({"dense": "sparse_categorical_crossentropy"})"}) {
    describe_training("loss", loss);
    EXPECT_EQ(load().evaluate(data).logs.entries(), model_.evaluate(data).logs.entries()) << loss;
    EXPECT_EQ(lines_, Lines{}) << loss;
  }
}

TEST_P(LeftOut, InitializersAreNamedOnly) {
  file_.model_config = with(file_.model_config, "kernel_initializer",
                            from_json(R"({"class_name": "Identity", "config": {"gain": 1.0}})"));
  Model loaded = load();
  EXPECT_EQ(lines_,
            Lines{cat(path_,
                      ": kernel_initializer of conv2d, kernel_initializer of dense: not supported; the "
                      "weights are the file's, but what is saved here names another")});
  expect_same_predictions(loaded);
  loaded.fit(small_images(8), {.batch_size = 4, .verbose = 0});
}

TEST_P(LeftOut, DtypesThatAreNotThoseOfTheModel) {
  const ConfigValue as_it_is = file_.model_config;
  file_.model_config = with(
      as_it_is, "dtype",
      from_json(R"({"module": "keras", "class_name": "DTypePolicy", "config": {"name": "mixed_bfloat16"}})"));
  Model loaded = load();
  EXPECT_EQ(lines_, Lines{cat(path_, ": dtype mixed_bfloat16 of 5 layers: computed in float32 here")});
  expect_same_predictions(loaded);
  lines_.clear();
  load({.compute_dtype = DType::bf16});
  EXPECT_EQ(lines_, Lines{});
  file_.model_config = with(as_it_is, "dtype", "float64");
  load();
  EXPECT_EQ(lines_, Lines{cat(path_, ": dtype float64 of 5 layers: computed in float32 here")});
  lines_.clear();
  load({.dtype = DType::f64});
  file_.model_config = as_it_is;
  load({.compute_dtype = DType::bf16});  // whoever asks for it knows
  EXPECT_EQ(lines_, Lines{});
}

// Keras 2 allows them, as in its DenseNet121; Keras 3 does not.
TEST_P(LeftOut, SlashesInNames) {
  file_.model_config = with(file_.model_config, "name", "block1/part");  // of the net and each layer
  file_.state.reset();                                                   // which a file of Keras has not
  ConfigDict config = file_.model_config.at("config").as_dict();
  for (auto& [key, value] : config) {
    if (key != "layers") continue;
    ConfigList layers;
    for (const ConfigValue& layer : value.as_list())
      layers.push_back(with(layer, "name", cat("block1/part", layers.size())));
    value = layers;
  }
  file_.model_config = ConfigDict{{"class_name", "Sequential"}, {"config", config}};
  Model loaded = load();
  EXPECT_EQ(lines_, Lines{cat(path_, ": '/' in the names of ", loaded.module().children().size() + 1,
                              " layers is '_' here, as Keras 3 wants it")});
  EXPECT_EQ(loaded.module().children().back()->name(), "block1_part5");
  expect_same_predictions(loaded);
}

// What a layer says against its inputs is a fault of the file, and so named.
TEST_P(LeftOut, NetsThatDoNotFitTogetherNameTheFile) {
  file_.model_config = with(file_.model_config, "pool_size", ConfigList{ConfigValue(9), ConfigValue(9)});
  EXPECT_EQ(message_of<Error>([&] { load(); }),
            cat(path_, ": [max_pooling2d] a window of 9 x 9 does not fit into images of 4 x 4"));
}

TEST_P(LeftOut, NothingIsSaidOfAFileThatIsUnderstood) {
  load();
  EXPECT_EQ(lines_, Lines{});
}

// In a schedule's file the rate is the schedule's, however the run had shared it out.
TEST_P(LeftOut, ASchedulesRateComesBack) {
  model_.optimizer().set_learning_rate(0.5);
  model_.optimizer().set_schedule(std::make_shared<PolynomialDecay>(
      PolynomialDecayOptions{.initial_rate = 0.1, .decay_steps = 30, .end_rate = 0.01}));
  model_.save(path_);
  Model loaded = Model::load(path_);
  EXPECT_EQ(loaded.optimizer().iterations(), 3);
  EXPECT_DOUBLE_EQ(loaded.optimizer().current_learning_rate(), model_.optimizer().current_learning_rate());
  model_.fit(small_images(12), {.batch_size = 4, .verbose = 0});
  loaded.fit(small_images(12), {.batch_size = 4, .verbose = 0});
  EXPECT_DOUBLE_EQ(loaded.optimizer().current_learning_rate(), model_.optimizer().current_learning_rate());
}

TEST_P(LeftOut, IsSaidByRank0Alone) {
  describe_training("metrics", R"(["MeanIoU"])");
  write_saved_model(path_, file_);
  std::atomic<int> lines = 0;
  test::run_ranks(2, [&](Communicator& world) {
    Model loaded = Model::load(path_, {.communicator = &world, .warn = [&](const std::string&) {
                                         EXPECT_EQ(world.rank(), 0);
                                         ++lines;
                                       }});
    EXPECT_TRUE(loaded.is_compiled());
  });
  EXPECT_EQ(lines, 1);
}

INSTANTIATE_TEST_SUITE_P(Files, LeftOut, ::testing::Values(".h5", ".keras"));

// A net that augments its own pictures, of the real Keras.
TEST(LeftOutAugmentations, PredictAndAreSaved) {
  const std::string names =
      "RandomFlip random_flip, RandomRotation random_rotation, RandomZoom random_zoom, RandomTranslation "
      "random_translation, RandomContrast random_contrast, RandomBrightness random_brightness, GaussianNoise "
      "gaussian_noise, GaussianDropout gaussian_dropout";
  const TempDir dir;
  const std::string folder = golden("augmenting_net_keras3.15.1/"), path = folder + "net.keras";
  const NamedTensors io = read_npz(folder + "io.npz");
  Lines lines;
  const ModelOptions options{.warn = [&](const std::string& line) { lines.push_back(line); }};
  Model model = Model::load(path, options);
  EXPECT_EQ(lines, Lines{cat(path, ": ", names,
                             ": not supported, so no part of loss or training here; kept in what is saved")});
  const std::vector<float> keras = io.at("output").to_vector<float>();
  std::vector<float> ours = model.predict(io.at("input")).to_vector<float>();
  ASSERT_EQ(ours.size(), keras.size());
  for (std::size_t i = 0; i < keras.size(); ++i) EXPECT_NEAR(ours[i], keras[i], 1e-6);
  const InMemoryDataset data(io.at("input"), Tensor::zeros({7}, {.dtype = DType::i32}));
  EXPECT_EQ(message_of<UsageError>([&] { model.fit(data, {.verbose = 0}); }),
            cat("[fit] ", path, ": ", names, " would not be trained with; call compile to train this model"));

  const auto described = [](const std::string& file) {
    return to_json(read_saved_model(file).model_config.at("config").at("layers"));
  };
  model.save(dir / "again.keras");
  const std::string saved = described(dir / "again.keras");
  for (const char* part :
       {R"("mode":"horizontal")", R"("factor":[-0.1,0.1],"fill_mode":"reflect")",
        R"("height_factor":0.2,"width_factor":null)", R"("value_range":[0,255])", R"("stddev":0.1)"})
    EXPECT_NE(saved.find(part), std::string::npos) << part << " in " << saved;
  model = Model::load(dir / "again.keras", options);
  EXPECT_EQ(model.predict(io.at("input")).to_vector<float>(), ours);
  EXPECT_EQ(described(dir / "again.keras"), saved);
  EXPECT_THROW(model.fit(data, {.verbose = 0}), UsageError) << "nor is it from what is saved";
  model.compile(small_compile());
  EXPECT_EQ(model.fit(data, {.verbose = 0}).epochs.size(), 1u) << "knowingly";
}

}  // namespace
}  // namespace ronde::test
