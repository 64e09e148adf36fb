// Trains on CIFAR-10: `mpirun -np 4 train_cifar10 --dir results`. Recipes are in cifar10/recipes.cpp, all
// else in common/.
#include "cifar10/recipes.h"
#include "common/cifar10_data.h"
#include "common/program.h"

int main(int argc, char** argv) {
  using namespace ronde::apps;
  return program_main(
      argc, argv,
      {.name = "train_cifar10",
       .summary = "Trains a net on CIFAR-10, on every rank that mpirun or srun starts, or alone.",
       .recipes = cifar10_recipe_names(),
       .recipe = cifar10_recipe,
       .data = cifar10_source()});
}
