#include "common/run_banner.h"

#include <ronde/core/build_info.h>
#include <ronde/core/counted.h>

#include "common/banner.h"
#include "common/device_choice.h"

namespace ronde::apps {
namespace {

std::string ranks_line(const Communicator& world, int threads) {
  const std::string nodes = world.cross_size() == 1 ? "" : cat(" on ", world.cross_size(), " nodes");
  return cat(world.size(), nodes, " (", world.name(), "), ", counted(threads, "thread"), " each");
}

std::string epochs_line(const TrainPlan& plan) {
  std::string length = "one pass over the data";
  if (plan.passes > 1) length = cat(plan.passes, " passes over the data");
  if (plan.steps_per_epoch > 0) length = to_string(counted(plan.steps_per_epoch, "step"));
  return cat(counted(plan.epochs, "epoch"), " of ", length);
}

// So that nobody waits for a speed that this processor does not have.
std::string precision_line(const std::string& precision, const ChosenDevice& device) {
  if (precision != "mixed_bfloat16" || device_kind(device) != "cpu") return precision;
  const std::string isa = instruction_set(DType::bf16);
  if (isa != instruction_set(DType::f32)) return cat(precision, ", products of bfloat16 by ", isa);
  return precision + ", rounded from float arithmetic: no faster than float32";
}

}  // namespace

std::string run_banner(const Communicator& world, const Report& report, const TrainingJob& job,
                       const std::string& resume) {
  const TrainPlan& plan = job.plan;
  BannerLines lines{{"device", device_line(job.device)},
                    {"ranks", ranks_line(world, report.threads)},
                    {"precision", precision_line(report.precision, job.device)},
                    {"global batch", to_string(counted(plan.global_batch, "image"))},
                    {"training", epochs_line(plan)},
                    {"optimizer", cat(plan.optimizer, ", learning rate ", plan.learning_rate,
                                      plan.clip_norm > 0.0 ? cat(", clip norm ", plan.clip_norm) : "")},
                    {"net", to_string(counted(report.parameters, "parameter"))},
                    {"data", job.data_description}};
  if (world.size() > 1) lines.insert(lines.begin() + 2, {"transport", world.transport()});
  if (const std::string exchange = to_string(job.options.distributed);
      exchange != to_string(DistributedOptions()))
    lines.emplace_back("gradients", exchange);
  if (job.recipe.augmentation)
    lines.emplace_back("augmentation",
                       job.options.no_augmentation ? "off" : job.recipe.augmentation_description);
  if (!job.options.dir.empty()) lines.emplace_back("output", job.options.dir);
  if (!resume.empty()) lines.emplace_back("resume", resume);
  return banner(cat("Ronde ", RONDE_VERSION, ": ", report.program, ", recipe ", report.recipe), lines);
}

}  // namespace ronde::apps
