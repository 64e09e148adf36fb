// The snippets of distributed/horovod.md: what lies between "// [name]" and "// [end]" is shown there, and
// page_test.py compares. Run by mpirun.
#include <cstdio>
#include <string>

// [include]
#include <ronde/ronde.h>

using namespace ronde;
// [end]

namespace {

InMemoryDataset make_points(std::int64_t count) {
  std::vector<float> points;
  std::vector<std::int32_t> inside;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i * 37 % 100) / 50.0 - 1.0;
    const double y = static_cast<double>(i * 61 % 97) / 48.0 - 1.0;
    points.insert(points.end(), {static_cast<float>(x), static_cast<float>(y)});
    inside.push_back(x + y > 0.0 ? 1 : 0);
  }
  return {Tensor::from<float>({count, 2}, points), Tensor::from<std::int32_t>({count}, inside)};
}

double train_with_a_loop(const InMemoryDataset& data, const std::string& directory) {
  Sequential net(Dense({.units = 16, .activation = Activation::relu}), Dense({.units = 2}));
  net.build({2});
  ParameterArena arena(net);

  // [shard]
  DataLoader loader(
      data, ShardedSampler(
                {.size = data.size(), .global_batch = 32 * size(), .rank = rank(), .world_size = size()}));
  // [end]
  // [scale]
  auto adam = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.001 * size()});
  // [end]
  // [wrap]
  DistributedOptimizer optimizer(std::move(adam), world());
  // [end]
  // [broadcast]
  optimizer.attach(arena);
  // [end]

  double loss_sum = 0.0;
  loader.start(0, loader.sampler().steps_per_epoch());
  // [step]
  while (const Batch* batch = loader.next()) {
    arena.zero_gradients();
    Variable losses = softmax_cross_entropy(net(batch->inputs, {.training = true}), batch->targets);
    sum(losses).backward();                      // gradients leave while this runs
    optimizer.step({.samples = batch->size()});  // sums of all ranks, divided by their samples
    loss_sum += sum(losses).item();
  }
  // [end]
  // [metric]
  std::vector<double> totals{loss_sum, static_cast<double>(data.size()) / size()};
  allreduce(totals, {.name = "loss"}).wait();
  const double mean_loss = totals[0] / totals[1];  // exact for unequal shards too
  // [end]
  // [save]
  if (rank() == 0) write_safetensors(directory + "/net.safetensors", net);
  // [end]
  return mean_loss;
}

void train_with_a_model(const InMemoryDataset& data, const std::string& directory) {
  Sequential net(Dense({.units = 16, .activation = Activation::relu}), Dense({.units = 2}));
  // [model]
  Model model(net, {2}, {.communicator = &world()});
  model.compile(
      {.optimizer = std::make_unique<Adam>(AdamOptions{.learning_rate = 0.001 * size()}),
       .loss = std::make_unique<SparseCategoricalCrossentropy>(CrossentropyOptions{.from_logits = true})});
  LearningRateWarmup warmup({.warmup_epochs = 1});
  ModelCheckpoint checkpoint({.filepath = directory + "/checkpoint-{epoch}.h5"});
  model.fit(data, {.batch_size = 32, .epochs = 2, .callbacks = {&warmup, &checkpoint}, .verbose = 0});
  const Evaluation result = model.evaluate(data);
  if (rank() == 0) std::printf("%d of %d are right\n", int(result.correct), int(result.count));
  // [end]
}

void call_collectives() {
  const Tensor tensor = Tensor::full({8}, rank());
  // [collectives]
  allreduce(tensor, {.op = Reduction::average, .name = "tensor"}).wait();  // in place
  const Work sum = allreduce(tensor);                                      // asynchronous:
  while (!sum.done()) sum.wait_for(0.001);
  sum.wait();  // throws what went wrong

  const Tensor rows = allgather(Tensor::zeros({rank() + 1, 3})).wait();    // any number of rows each
  const double mean = allreduce_value(0.5).wait();                         // the average
  const std::string name = broadcast_object(std::string("run 7")).wait();  // rank 0's
  const auto ranks = allgather_object(rank()).wait();                      // std::vector<int>
  // [end]
  require(rows.size(0) == size() * (size() + 1) / 2 && mean == 0.5 && name == "run 7" &&
              ranks.size() == static_cast<std::size_t>(size()),
          "collectives give something else");
  // [process_set]
  ProcessSet first(world(), {0});
  if (first.included()) first->allreduce(tensor).wait();
  // [end]
}

}  // namespace

// [main]
int main(int argc, char** argv) {
  init(argc, argv);
  // [end]
  const std::string directory = argv[1];
  const InMemoryDataset data = make_points(500);
  // [timeline]
  {
    const Timeline timeline(world(), {.path = directory + "/timeline.json"});
    train_with_a_model(data, directory);
  }
  // [end]
  train_with_a_loop(data, directory);
  call_collectives();
  // [shutdown]
  shutdown();
}
// [end]
