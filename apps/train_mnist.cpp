// Trains on MNIST: `mpirun -np 4 train_mnist`. Recipes are in mnist/recipes.cpp, all else in common/.
#include "common/mnist_data.h"
#include "common/program.h"
#include "common/training.h"
#include "mnist/recipes.h"

int main(int argc, char** argv) {
  using namespace ronde::apps;
  const ProgramInfo info{
      .name = "train_mnist",
      .summary = "Trains a net on MNIST, on every rank that mpirun or srun starts, or alone.",
      .recipes = mnist_recipe_names()};
  return program_main(argc, argv, info, [&](ronde::Communicator& world, const TrainOptions& options) {
    const ronde::Mnist mnist = load_mnist_data(world, options);
    const ronde::Subset train =
        ronde::subset(mnist.train, options.train_samples.value_or(mnist.train.size()));
    const ronde::Subset test = ronde::subset(mnist.test, options.test_samples.value_or(mnist.test.size()));
    run_training(
        world, options, mnist_recipe(options.recipe),
        {.program = info.name, .data_description = mnist.description(), .train = train, .test = test});
  });
}
