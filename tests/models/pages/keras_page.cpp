// The snippets of models/keras.md: what lies between "// [name]" and "// [end]" is shown there, and
// page_test.py compares. Run by mpirun.
#include <cstdio>
#include <string>

// [include]
#include <ronde/ronde.h>

using namespace ronde;
// [end]

namespace {

constexpr std::int64_t kSide = 12;

// Pictures of kSide x kSide bytes, brighter in the half that the label says: 0 left, 1 right.
InMemoryDataset make_pictures(std::int64_t count) {
  std::vector<std::uint8_t> bytes;
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < count; ++i) {
    classes.push_back(static_cast<std::int32_t>(i % 2));
    for (std::int64_t p = 0; p < kSide * kSide; ++p) {
      const bool right = p % kSide >= kSide / 2;
      bytes.push_back(static_cast<std::uint8_t>((i * 31 + p * 17) % 100 + (right == (i % 2 == 1) ? 100 : 0)));
    }
  }
  const Tensor pixels = Tensor::from<std::uint8_t>({count, kSide, kSide, 1}, bytes);
  const Tensor labels = Tensor::from<std::int32_t>({count}, classes);
  // [data]
  InMemoryDataset train(pixels, labels, {.scale = 1.0 / 255});  // u8 (n, h, w, c), i32 (n)
  // [end]
  return train;
}

Sequential make_net() {
  // [sequential]
  Sequential net(Conv2D({.filters = 8, .kernel = {3, 3}, .activation = Activation::relu}),
                 MaxPooling2D({.pool = {2, 2}}), Dropout(0.25), Flatten(),
                 Dense({.units = 2, .activation = Activation::softmax}));
  // [end]
  return net;
}

void train_and_save(const InMemoryDataset& train, const InMemoryDataset& test, const std::string& directory) {
  Sequential net = make_net();
  // [compile]
  Model model(net, {kSide, kSide, 1}, {.communicator = &world()});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = std::make_unique<SparseCategoricalCrossentropy>(),
                 .metrics = {make_metric("accuracy")}});
  // [end]
  // [fit]
  EarlyStopping stop({.monitor = "val_loss", .patience = 3, .restore_best_weights = true});
  ModelCheckpoint best({.filepath = directory + "/best.h5", .save_best_only = true});
  const History history = model.fit(
      train, {.batch_size = 16, .epochs = 4, .validation = &test, .callbacks = {&stop, &best}, .verbose = 0});
  const double val_loss = history.values.at("val_loss").back();
  // [end]
  // [evaluate]
  const Evaluation result = model.evaluate(test);
  const double accuracy = result.logs.at("accuracy");  // result.correct of result.count
  const Tensor pictures = Tensor::zeros({5, kSide, kSide, 1});
  const Tensor probabilities = model.predict(pictures);  // f32 (5, 2)
  const Tensor answers = argmax(probabilities);          // i64 (5)
  // [end]
  require(val_loss < 0.5 && accuracy > 0.9 && answers.size(0) == 5, "the net learned nothing");
  // [save]
  model.save(directory + "/net.keras");           // or .h5; rank 0 writes
  model.save_weights(directory + "/weights.h5");  // or .safetensors, .npz
  Model again = Model::load(directory + "/net.keras", {.communicator = &world()});
  // [end]
  require(again.weights_sha256() == model.weights_sha256(), "a file changes the weights");
}

// [functional]
Graph residual_net() {
  Graph net;
  const Symbol x = net.input();
  const Symbol y = net.add(Conv2D({.filters = 8, .padding = Padding::same}), x);
  Symbol z = net.add(BatchNormalization(), y);
  z = net.add(Activation(Activation::relu), z);
  z = net.add(Conv2D({.filters = 8, .padding = Padding::same}), z);
  z = net.add(Add(), {y, z});
  z = net.add(GlobalAveragePooling2D(), z);
  net.output(net.add(Dense({.units = 2, .activation = Activation::softmax}), z));
  return net;
}
// [end]

// [layer]
struct Scale : Module {
  Variable factor;
  std::string class_name() const override { return "Scale"; }
  void build_weights(const Shape& input, const BuildOptions& options) override {
    factor = add_weight({.name = "factor"}, {input.back()}, Initializer::ones, options);
  }
  Variable forward(const Variable& x, const Context&) override { return x * factor; }
};
// [end]

// [subclass]
struct Net : Module {
  Flatten flatten;
  Dense hidden{{.units = 16, .activation = Activation::relu}};
  Scale scale;
  Dense classes{{.units = 2}};
  Net() {
    add_module("flatten", flatten), add_module("hidden", hidden);
    add_module("scale", scale), add_module("classes", classes);
  }
  Variable forward(const Variable& x, const Context& context) override {
    Variable h = hidden(flatten(x, context), context);
    if (context.training) h = h + 0.001;  // any C++
    return classes(scale(h, context), context);
  }
};
// [end]

// [loss]
struct Pinball : Loss {  // of the 0.9 quantile
  std::string name() const override { return "pinball"; }
  Variable operator()(const Variable& output, const Tensor& target) const override {
    const Variable error = target - output;                          // (n, 1)
    return mean(maximum(0.9 * error, -0.1 * error), {.axes = {1}});  // one value for each sample, (n)
  }
};
// [end]

// [metric]
struct MeanError : Metric {
  double sum = 0.0, count = 0.0;
  std::string name() const override { return "mean_error"; }
  void update(const Tensor& output, const Tensor& target) override {
    sum += ronde::sum(output - target).item();
    count += static_cast<double>(output.count());
  }
  MetricSums sums() const override { return {sum, count}; }  // added up over the ranks; their mean is shown
  void reset() override { sum = count = 0.0; }
};
// [end]

void train_with_own_loss() {
  const Tensor x = Initializer::random_normal(0, 1).make({64, 4}, "x", {.seed = 1}),
               y = Tensor::zeros({64, 1});
  Sequential net(Dense({.units = 1}));
  Model model(net, {4}, {.communicator = &world()});
  model.compile({.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}),
                 .loss = std::make_unique<Pinball>(),
                 .metrics = {std::make_shared<MeanError>()}});
  const double first = model.train_on_batch(x, y);
  for (int i = 0; i < 50; ++i) model.train_on_batch(x, y);
  require(model.train_on_batch(x, y) < first, "a loss of one's own goes up");
}

// [heads]
Graph policy_and_value_net(std::int64_t moves) {
  Graph net;
  const Symbol board = net.input("board", {8, 8, 2}), clocks = net.input("clocks", {2});
  const Symbol seen = net.add(Concatenate(), {net.add(Flatten(), board), clocks});
  const Symbol body = net.add(Dense({.units = 32, .activation = Activation::relu}), seen);
  const Symbol policy =
      net.add(Dense({.units = moves, .activation = Activation::softmax, .name = "policy"}), body);
  const Symbol value = net.add(Dense({.units = 1, .activation = Activation::tanh, .name = "value"}), body);
  net.output({policy, value});
  return net;
}
// [end]

void train_heads(const std::string& directory) {
  const auto draw = [](const Shape& shape) {
    return Initializer::random_normal(0, 1).make(shape, "games", {.seed = 1});
  };
  const Tensor boards = draw({64, 8, 8, 2}), times = draw({64, 2}), results = Tensor::zeros({64, 1});
  const Tensor played = Tensor::full({64, 1}, 3.0);  // the label of each move
  // [heads_training]
  Graph net = policy_and_value_net(10);
  Model model(net, joined_shape(net.input_parts()), {.communicator = &world()});
  auto losses = std::make_unique<OutputLosses>(
      net.output_parts(),
      std::vector<OutputLoss>{{.output = "policy",
                               .loss = make_loss("sparse_categorical_crossentropy"),
                               .metrics = {make_metric("accuracy")}},
                              {.output = "value", .loss = make_loss("mse"), .weight = 0.5}});
  model.compile(
      {.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.01}), .loss = std::move(losses)});
  const InMemoryDataset games(join_rows({boards, times}).value(), join_rows({played, results}).value());
  model.fit(games, {.batch_size = 16, .epochs = 10, .verbose = 0});
  const Logs logs = model.evaluate(games).logs;  // loss, policy_loss, value_loss, policy_accuracy
  const Tensor rows = model.predict(games.inputs());
  const std::vector<Variable> outputs = split_rows(rows, net.output_parts());  // (64, 10), (64, 1)
  // [end]
  require(logs.at("policy_accuracy") > 0.9 && outputs[1].shape() == Shape{64, 1}, "two heads learn nothing");
  model.save(directory + "/heads.keras");
}

void train_with_a_loop(const InMemoryDataset& train) {
  Net net;
  net.build({kSide, kSide, 1});
  ParameterArena arena(net);
  DistributedOptimizer optimizer(std::make_unique<Adam>(), world());
  optimizer.attach(arena);
  DataLoader loader(
      train,
      ShardedSampler({.size = train.size(), .global_batch = 32, .rank = rank(), .world_size = size()}));
  loader.start(0, 20);
  while (const Batch* batch = loader.next()) {
    // [tape]
    arena.zero_gradients();
    const Variable logits = net(batch->inputs, {.training = true, .sample_keys = batch->sample_keys});
    sum(softmax_cross_entropy(logits, batch->targets)).backward();  // net.scale.factor.grad() is there now
    optimizer.step({.samples = batch->size()});                     // the mean over the samples of all ranks
    // [end]
  }
}

// [callback]
struct Report : Callback {
  void on_epoch_end(std::int64_t epoch, Logs& logs) override {
    if (logs.at("loss") < 0.01) model().stop_training();  // the same on all ranks: so are the logs
    if (is_main_rank() && plan().verbose > 0) std::printf("epoch %d is over\n", static_cast<int>(epoch));
  }
};
// [end]

void train_residual_net(const InMemoryDataset& train, const std::string& directory) {
  Graph net = residual_net();
  Model model(net, {kSide, kSide, 1}, {.communicator = &world(), .compute_dtype = DType::bf16});
  // [schedule]
  auto adam = std::make_unique<Adam>();
  adam->set_schedule(
      std::make_shared<CosineDecay>(CosineDecayOptions{.initial_rate = 1.0, .decay_steps = 100}));
  adam->set_moving_average({.momentum = 0.99});
  model.compile({.optimizer = std::move(adam), .loss = make_loss("sparse_categorical_crossentropy")});
  // [end]
  // [augmentation]
  const Augment augment = image_data_generator({.width_shift_range = 0.1, .horizontal_flip = false});
  Report report;
  BackupAndRestore backup({.backup_dir = directory + "/backup", .save_freq = 10});
  model.fit(train, {.batch_size = 16,
                    .epochs = 2,
                    .class_weight = {{0, 1.0}, {1, 2.5}},
                    .augmentation = &augment,
                    .callbacks = {&report, &backup},
                    .verbose = 0});
  // [end]
  model.save(directory + "/residual.keras");
}

void go_on_with_another_head(const InMemoryDataset& train, const std::string& directory) {
  // [transfer]
  Model old = Model::load(directory + "/net.keras");
  Sequential net(Conv2D({.filters = 8, .activation = Activation::relu, .name = "conv2d"}), Flatten(),
                 Dense({.units = 2, .activation = Activation::softmax, .name = "new_head"}));
  net.build({kSide, kSide, 1});
  const MatchedWeights matched = assign_matching_weights(net, named_weights(old.module()));
  net.layers().front()->set_trainable(false);
  Model model(net, {kSide, kSide, 1}, {.communicator = &world()});
  model.compile({.optimizer = std::make_unique<SGD>(), .loss = make_loss("sparse_categorical_crossentropy")});
  // [end]
  require(matched.assigned.size() == 2, "the convolution's weights were not found");
  model.fit(train, {.batch_size = 16, .verbose = 0});
}

}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [&](Communicator&) {
    const std::string directory = argv[1];
    const InMemoryDataset train = make_pictures(256), test = make_pictures(64);
    train_and_save(train, test, directory);
    train_residual_net(train, directory);
    go_on_with_another_head(train, directory);
    train_with_own_loss();
    train_heads(directory);
    train_with_a_loop(train);
  });
}
