// write_events DIR: trains a small net with the TensorBoard callback, is "interrupted" behind what it saved,
// and goes on. tensorboard_test.py has the real TensorBoard read what lies in DIR then, and compares with
// what is printed here.
#include <cstdio>

#include <ronde/models/tensorboard.h>

#include "models/testing.h"

using namespace ronde;

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string directory = argv[1];
  const InMemoryDataset data = ronde::test::small_images(48), validation = ronde::test::small_images(12, 1);
  Model model = ronde::test::small_model();
  const TensorBoardOptions options{.log_dir = directory,
                                   .histogram_freq = 1,
                                   .write_steps_per_second = true,
                                   .update_freq = 2,
                                   .sample_images = &data,
                                   .sample_count = 2};
  TensorBoard first(options), second(options);
  FitOptions fit{
      .batch_size = 8, .epochs = 2, .validation = &validation, .callbacks = {&first}, .verbose = 0};
  model.fit(data, fit);
  {
    SummaryWriter lost(directory + "/train"), lost_too(directory + "/validation");
    for (std::int64_t step = 2; step < 9; ++step) lost.scalar("epoch_loss", 99, step);
    for (std::int64_t step = 14; step < 90; step += 2) lost.scalar("batch_loss", 99, step);
    for (std::int64_t step = 2; step < 9; ++step) lost_too.scalar("epoch_loss", 99, step);
    lost_too.scalar("evaluation_loss_vs_iterations", 99, 90);
  }
  SummaryWriter notes(directory + "/notes");
  notes.text("note", "**written** by hand", 0);
  fit.epochs = 4;
  fit.resume = true;
  fit.callbacks = {&second};
  const History history = model.fit(data, fit);
  for (const auto& [name, values] : history.values) {
    std::printf("%s", name.c_str());
    for (const double value : values) std::printf(" %.9g", value);
    std::printf("\n");
  }
}
