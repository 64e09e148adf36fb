// Trains on MNIST: `mpirun -np 4 train_mnist`. Recipes are in mnist/recipes.cpp, all else in common/.
#include "common/mnist_data.h"
#include "common/program.h"
#include "mnist/recipes.h"

int main(int argc, char** argv) {
  using namespace ronde::apps;
  return program_main(
      argc, argv,
      {.name = "train_mnist",
       .summary = "Trains a net on MNIST, on every rank that mpirun or srun starts, or alone.",
       .recipes = mnist_recipe_names(),
       .recipe = mnist_recipe,
       .data = mnist_source()});
}
