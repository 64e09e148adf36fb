// The snippets of models/pytorch.md: what lies between "// [name]" and "// [end]" is shown there, and
// page_test.py compares. Run by mpirun.
#include <cmath>
#include <string>

// [include]
#include <ronde/ronde.h>

using namespace ronde;
// [end]

namespace {

constexpr std::int64_t kSide = 12;

double differentiate() {
  // [autograd]
  Variable w = Variable::parameter(Tensor::zeros({3, 1}));
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Variable loss = mean(square(matmul(x, w) - 1.0));
  loss.backward();
  const NoGrad no_grad;  // until the end of this block
  w.assign((w - 0.01 * w.grad()).value());
  w.zero_grad();
  // [end]
  return loss.item() - mean(square(matmul(x, w) - 1.0)).item();
}

// [function]
struct Cube : Node {
  Variable x;
  const char* name() const override { return "cube"; }
  void backward(const Tensor& grad_out, InputGrads& grads) override {
    grads.set(0, (3.0 * square(x) * grad_out).value());  // nothing is recorded here
  }
};

Variable cube(const Variable& x) {
  auto node = std::make_shared<Cube>();
  node->x = x.detach();
  return Node::record(node, {x}, (node->x * square(node->x)).value());
}
// [end]

// [dataset]
struct Halves : Dataset {  // pictures brighter in the half that the label says
  std::int64_t size() const override { return 256; }
  Shape input_shape() const override { return {kSide, kSide, 1}; }
  void read(std::span<const std::int64_t> samples, const Tensor& inputs,
            const Tensor& targets) const override {
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const auto label = static_cast<std::int32_t>(samples[row] % 2);
      targets.data<std::int32_t>()[row] = label;
      float* picture = inputs.data<float>() + static_cast<std::int64_t>(row) * kSide * kSide;
      for (std::int64_t p = 0; p < kSide * kSide; ++p) {
        const bool bright = (p % kSide >= kSide / 2) == (label == 1);
        picture[p] = static_cast<float>((samples[row] * 31 + p * 17) % 100 + (bright ? 100 : 0)) / 255.0f;
      }
    }
  }
};
// [end]

// [net]
struct Net : Module {
  Conv2D conv{{.filters = 8, .padding = Padding::same, .activation = Activation::relu}};
  MaxPooling2D pool;
  Dropout dropout{0.25};
  Flatten flatten;
  Dense classes{{.units = 2}};
  Net() {
    add_module("conv", conv), add_module("pool", pool), add_module("dropout", dropout);
    add_module("flatten", flatten), add_module("classes", classes);
  }
  Variable forward(const Variable& x, const Context& context) override {
    const Variable h = dropout(pool(conv(x, context), context), context);
    return classes(flatten(h, context), context);
  }
};
// [end]

void train(Net& net, const Dataset& data, const std::string& directory) {
  // [setup]
  net.build({kSide, kSide, 1}, {.seed = 1});
  ParameterArena arena(net);
  auto sgd = std::make_unique<SGD>(
      SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .l2 = 1e-4, .clip = {.global_norm = 5.0}});
  sgd->set_schedule(
      std::make_shared<CosineDecay>(CosineDecayOptions{.initial_rate = 1.0, .decay_steps = 40}));
  DistributedOptimizer optimizer(std::move(sgd), world());
  optimizer.attach(arena);  // all ranks start from rank 0's weights
  // [end]
  // [loader]
  DataLoader loader(
      data, ShardedSampler({.size = data.size(), .global_batch = 32, .rank = rank(), .world_size = size()}),
      {.threads = 2});
  // [end]
  // [train]
  const std::int64_t steps = loader.sampler().steps_per_epoch();
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    loader.start(epoch * steps, steps);  // another order in each epoch
    while (const Batch* batch = loader.next()) {
      arena.zero_gradients();
      const Variable logits = net(batch->inputs, {.training = true, .sample_keys = batch->sample_keys});
      sum(softmax_cross_entropy(logits, batch->targets)).backward();
      optimizer.step({.samples = batch->size()});
    }
  }
  // [end]
  // [accumulate]
  loader.start(5 * steps, 2);
  arena.zero_gradients();
  std::int64_t samples = 0;
  for (int part = 0; part < 2; ++part) {
    const Batch* batch = loader.next();
    std::optional<DistributedOptimizer::NoSync> hold;
    if (part == 0) hold.emplace(optimizer);  // nothing is sent before the last backward pass
    sum(softmax_cross_entropy(net(batch->inputs), batch->targets)).backward();
    samples += batch->size();
  }
  optimizer.step({.samples = samples});
  // [end]
  // [statistics]
  average_buffers(arena, world());  // before an evaluation or a file
  // [end]
  // [checkpoint]
  save_training(directory + "/run.safetensors", net, optimizer);  // on all ranks; rank 0 writes
  // [end]
}

void resume(const std::string& directory, const Dataset& data) {
  DataLoader loader(
      data, ShardedSampler({.size = data.size(), .global_batch = 32, .rank = rank(), .world_size = size()}));
  // [resume]
  Net net;
  net.build({kSide, kSide, 1});
  ParameterArena arena(net);
  DistributedOptimizer optimizer(std::make_unique<SGD>(SGDOptions{.momentum = 0.9}), world());
  optimizer.attach(arena);
  load_training(directory + "/run.safetensors", net, optimizer);
  const std::int64_t done = optimizer.optimizer().iterations();
  loader.start(done, 3);  // goes on in the order of the data
  // [end]
  require(done == 41, "other steps than were made");
  // [timeline]
  const Timeline timeline(world(), {.path = directory + "/timeline.json"});
  for (std::int64_t step = 1; step <= 3; ++step) {
    const TraceStep traced(step);
    const Batch* batch = loader.next();
    arena.zero_gradients();
    sum(softmax_cross_entropy(net(batch->inputs, {.training = true}), batch->targets)).backward();
    optimizer.step({.samples = batch->size()});
  }
  // [end]
}

void train_two_nets() {
  Sequential generator(Dense({.units = 16, .activation = Activation::relu}), Dense({.units = 2}));
  Sequential critic(Dense({.units = 16, .activation = Activation::relu}), Dense({.units = 1}));
  generator.build({8}, {.seed = 1});
  critic.build({2}, {.seed = 2});
  ParameterArena of_generator(generator), of_critic(critic);
  DistributedOptimizer generators(std::make_unique<Adam>(), world()),
      critics(std::make_unique<Adam>(), world());
  generators.attach(of_generator);
  critics.attach(of_critic);
  const Tensor real = Tensor::full({16, 2}, 0.5);
  // [gan]
  for (std::int64_t step = 0; step < 5; ++step) {
    const Tensor z = random_normal({16, 8}, {.seed = 1, .name = "z", .step = step * size() + rank()});
    of_critic.zero_gradients();
    const Variable fake = generator(z).detach();
    sum(softplus(critic(fake)) + softplus(-critic(real))).backward();
    critics.step({.samples = 16});

    for (Parameter& weight : critic.parameters()) weight.variable.set_requires_grad(false);
    of_generator.zero_gradients();
    sum(softplus(-critic(generator(z)))).backward();
    generators.step({.samples = 16});
    for (Parameter& weight : critic.parameters()) weight.variable.set_requires_grad(true);
  }
  // [end]
  require(critics.optimizer().iterations() == 5 && generators.optimizer().iterations() == 5,
          "steps are lost");
}

void follow() {
  Net online, followed;
  online.build({kSide, kSide, 1}, {.seed = 1});
  followed.build({kSide, kSide, 1}, {.seed = 2});
  ParameterArena arena(online), target(followed);
  const double before = sum(square(arena.values() - Variable(target.values()))).item();
  // [target]
  const NoGrad no_grad;
  target.values().copy_from((0.995 * target.values() + 0.005 * arena.values()).value());
  target.bump_version();
  // [end]
  const double after = sum(square(arena.values() - Variable(target.values()))).item();
  require(std::abs(after / before - 0.995 * 0.995) < 1e-4, "the target went elsewhere");
}

void go_along_one_axis() {
  // [one_axis]
  Sequential net(Conv1D({.filters = 8, .kernel = 5, .padding = Padding1D::same}), MaxPooling1D());
  net.build({100, 3});  // (n, 100, 3)
  // [end]
  require(net.output_shape() == Shape{1, 50, 8}, "other axes");
}

// [join]
struct Similarity : Module {
  Dense embed{{.units = 8}};
  Similarity() { add_module("embed", embed); }
  Variable forward(const Variable&, const Context&) override {
    throw UsageError("[similarity] expects two inputs");
  }
  Variable join(const std::vector<Variable>& inputs, const Context& context) override {
    return sum(embed(inputs[0], context) * embed(inputs[1], context), {.axes = {1}});
  }
};
// [end]

double test(Net& net, const Dataset& data) {
  // [evaluate]
  const NoGrad no_grad;
  Accuracy accuracy;
  DataLoader loader(
      data,
      ShardedSampler(
          {.size = data.size(), .global_batch = 64, .rank = rank(), .world_size = size(), .shuffle = false}));
  loader.start(0, loader.sampler().steps_per_epoch());
  while (const Batch* batch = loader.next()) accuracy.update(net(batch->inputs).value(), batch->targets);
  std::vector<double> sums = accuracy.sums();  // right, all
  allreduce(sums).wait();
  // [end]
  return accuracy.value(sums);
}

void save(Net& net, const std::string& directory) {
  // [save]
  if (rank() == 0) write_safetensors(directory + "/net.safetensors", net, WeightNames::torch);
  world().barrier().wait();
  Net again;
  again.build({kSide, kSide, 1});
  assign_named_weights(again, read_safetensors(directory + "/net.safetensors").tensors);
  // [end]
  const Tensor x = Tensor::full({1, kSide, kSide, 1}, 0.5);
  require(again(x).value().to_vector<double>() == net(x).value().to_vector<double>(), "weights differ");
}

void group() {
  Net net;
  net.build({kSide, kSide, 1});
  ParameterArena arena(net);
  // [groups]
  OptimizerGroups groups(optimizer_group("*/bias", AdamW({.learning_rate = 0.002, .weight_decay = 0.0})),
                         optimizer_group("*", AdamW({.learning_rate = 0.001, .weight_decay = 0.01})));
  // [end]
  groups.attach(arena);
}

void compute_in_bfloat16() {
  // [mixed]
  Net net;
  net.build({kSide, kSide, 1}, {.compute_dtype = DType::bf16});
  // [end]
  require(net(Tensor::zeros({1, kSide, kSide, 1})).dtype() == DType::bf16, "computed in something else");
}

}  // namespace

int main(int argc, char** argv) {
  return run_main(argc, argv, [&](Communicator&) {
    require(differentiate() > 0.0, "a step along the gradient goes up");
    Variable two = Variable::parameter(Tensor::full({1}, 2.0));
    sum(cube(two)).backward();
    require(two.grad().item() == 12.0, "the gradient of a cube is wrong");
    const Halves data;
    Net net;
    train(net, data, argv[1]);
    require(test(net, data) > 0.9, "the net learned nothing");
    save(net, argv[1]);
    group();
    compute_in_bfloat16();
    resume(argv[1], data);
    train_two_nets();
    follow();
    go_along_one_axis();
    Similarity similarity;
    const Tensor words = Tensor::full({3, 4}, 0.5);
    require(similarity({words, words}).shape() == Shape{3}, "other similarities");
  });
}
