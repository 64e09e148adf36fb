#include "common/train_options.h"

#include <ronde/core/error.h>
#include <ronde/core/text.h>
#include <ronde/distributed/timeline.h>
#include <ronde/models/terminal.h>

#include "common/exchange_options.h"

namespace ronde::apps {
namespace {

Setter steps(TraceWindow& target) {
  return [&target](const std::string& value) -> std::string {
    try {
      target = parse_trace_window(value);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
}

/// More than any machine has cores would fail when the system starts no more, which says nothing to anybody.
Setter number_of_threads(std::optional<std::int64_t>& target) {
  static constexpr std::int64_t kMost = 4096;
  return [&target, number = whole_number(target, 1)](const std::string& value) -> std::string {
    const std::string wrong = number(value);
    return wrong.empty() && *target <= kMost ? "" : cat("give a whole number from 1 to ", kMost);
  };
}

// "auto" is 0.
Setter steps_or_auto(std::optional<std::int64_t>& target) {
  return [&target, number = whole_number(target, 1)](const std::string& value) -> std::string {
    if (value == "auto") return target = 0, "";
    const std::string problem = number(value);
    return problem.empty() ? "" : problem + ", or auto";
  };
}

void declare_training(CommandLine& line, TrainOptions& options) {
  line.group("Training");
  line.option("epochs", "N", "epochs (default: the recipe's)", whole_number(options.epochs, 1));
  line.option("batch-size", "N", "samples a rank takes per step", whole_number(options.batch_size, 1));
  line.option("global-batch-size", "N", "samples all ranks together take per step",
              whole_number(options.global_batch_size, 1));
  line.option("steps-per-epoch", "N", "steps of an epoch", whole_number(options.steps_per_epoch, 1));
  line.option("micro-batch", "N",
              "samples a rank computes at once; gradients add up (default:\n"
              "the recipe's, or 64 on a CPU and the batch on a GPU)",
              whole_number(options.micro_batch, 1));
  line.option("backward-passes-per-step", "N", "batches that make one update (default 1)",
              whole_number(options.backward_passes_per_step, 1));
  line.option("optimizer", "NAME", "adadelta|adam|adamw|rmsprop|sgd",
              one_of(options.optimizer, {"adadelta", "adam", "adamw", "rmsprop", "sgd"}));
  line.option("learning-rate", "X", "base rate, before it is scaled", positive_number(options.learning_rate));
  line.option("clip-norm", "X", "limit of the gradient's norm, all ranks and parameters together",
              positive_number(options.clip_norm));
  line.option("scale-lr", "HOW", "linear|none: times ranks, or times global batch / the recipe's batch",
              one_of(options.scale_lr, {"linear", "none"}));
  line.option("warmup-epochs", "N", "epochs over which the rate rises to its scaled value",
              whole_number(options.warmup_epochs, 0));
  line.option("seed", "N", "of weights, order and dropout (default 0)", whole_number(options.seed, 0));
}

void declare_data(CommandLine& line, TrainOptions& options) {
  line.group("Data");
  line.option("data-dir", "DIR", "default: $RONDE_DATA, else ~/.cache/ronde", text(options.data_dir));
  line.flag("download", "fetch what is missing, pinned by SHA-256", options.download);
  line.option("train-samples", "N", "use the first N", whole_number(options.train_samples, 1));
  line.option("test-samples", "N", "use the first N", whole_number(options.test_samples, 1));
  line.flag("no-augmentation", "train on the images as they are", options.no_augmentation);
}

void declare_machine(CommandLine& line, TrainOptions& options) {
  line.group("Machine");
  line.option("device", "NAME", "auto|cpu|cuda (default auto: a GPU if one is usable)",
              one_of(options.device, {"auto", "cpu", "cuda"}));
  line.option("precision", "NAME",
              "float32|float64|mixed_bfloat16 (the last: layers compute in\n"
              "bfloat16, weights stay in float32)",
              one_of(options.precision, {"float32", "float64", "mixed_bfloat16"}));
  line.option("threads", "N", "of a rank (default: cores / ranks on the node)",
              number_of_threads(options.threads));
  line.flag("deterministic",
            "the same bits for any number of threads and, at one\n"
            "--global-batch-size, of ranks; slower",
            options.deterministic);
  line.flag("autotune",
            "try fewer threads and other buckets of gradients in the first\n"
            "steps, and keep what is surely faster",
            options.autotune);
}

void declare_output(CommandLine& line, TrainOptions& options) {
  line.group("Output, written by rank 0 only");
  line.option("dir", "D",
              "for all that a run makes: checkpoints, logs, metrics.json,\n"
              "report.html (default: models go to the working directory,\n"
              "the rest is not written)",
              text(options.dir));
  line.option("log-dir", "D", "for training.csv and TensorBoard's files (default: logs in --dir)",
              text(options.log_dir));
  line.option("metrics-json", "FILE",
              "results for scripts, after each epoch and at the end; its folder\n"
              "has to be there",
              text(options.metrics_json));
  line.option("timeline", "FILE",
              "what each thread of each rank did when, for ui.perfetto.dev or\n"
              "chrome://tracing; .json or .json.gz. `ronde report FILE` sums it up",
              text(options.timeline));
  line.option("timeline-steps", "A:B", "record the training's steps A to B only",
              steps(options.timeline_steps));
  line.option("timeline-mb", "N", "record until FILE has this size (default 64)",
              whole_number(options.timeline_mb, 1));
  line.option("upload", "WHERE",
              "copy each file of --dir there too, beside the training: a directory,\n"
              "or a command, as in 'aws s3 cp {file} s3://bucket/run7/{name}'",
              text(options.upload));
  line.option("upload-timeout", "SECONDS", "for one try, and at the end for what is left (default 300)",
              positive_number(options.upload_timeout));
  line.option("verbose", "0|1|2", "silent, a bar, or a line an epoch (default: as the terminal says)",
              one_of(options.verbose, {"0", "1", "2"}));
}

void declare_safety(CommandLine& line, TrainOptions& options) {
  line.group("Numbers that go wrong");
  line.option("non-finite", "HOW",
              "abort|skip|rollback: end with status 88 at the first step whose\n"
              "gradients hold NaN or infinity (the default), leave it out, or go\n"
              "back to the last checkpoint and on with the next samples",
              one_of(options.non_finite, {"abort", "skip", "rollback"}));
  line.option("non-finite-limit", "N", "end all the same at N such steps in a row (default 10)",
              whole_number(options.non_finite_limit, 1));
  line.option("check-replicas", "N",
              "every N steps and each epoch, compare weights and optimizer state\n"
              "of all ranks; status 87 when they differ (default 100; 0: never)",
              whole_number(options.check_replicas, 0));
  line.option("audit-steps", "N",
              "every N steps, compute forward and backward twice and compare the\n"
              "bits, for machines that make silent errors; status 87 names rank\n"
              "and parameter; costs about one step in N (default 0: never)",
              whole_number(options.audit_steps, 0));
}

void declare_interruptions(CommandLine& line, TrainOptions& options) {
  line.group(
      "Interruptions (USR1: save and go on; USR2, TERM: save and end with status 75; Ctrl-C: save and end "
      "with 130)");
  line.option("max-seconds", "N",
              "save and end with status 75 before the program has run so long;\n"
              "in a job of Slurm, before its time is up, without this option.\n"
              "Keeps time for three steps and three saves: 6 s for these before\n"
              "the first one, so that a shorter N ends it after a step",
              positive_number(options.max_seconds));
  line.option("hang-timeout", "SECONDS",
              "end with status 86, and say which rank is to blame, when the\n"
              "others have waited for it so long (default 600; 0: never)",
              seconds_or_never(options.hang_timeout));
}

void declare_checkpoints(CommandLine& line, TrainOptions& options) {
  line.group("Checkpoints, in --dir");
  line.option("checkpoint", "PATTERN",
              "file to save to after each epoch; {epoch}, {val_loss:.2f} ... are\n"
              "filled in; a name without them holds the epoch of the best\n"
              "val_loss only, which is tested at the end",
              text(options.checkpoint));
  line.option("save-steps", "N|auto",
              "save every N steps too, as model-<epoch>-<batch>.h5; auto: as\n"
              "often as loses the least time, from what a save costs and --mtbf",
              steps_or_auto(options.save_steps));
  line.option("mtbf", "SECONDS",
              "mean time between failures of the whole job, for --save-steps auto\n"
              "(default 3600)",
              positive_number(options.mtbf));
  line.option("keep", "N", "keep the last N files (default: 5 of --save-steps, all of epochs)",
              whole_number(options.keep, 1));
  line.option("resume", "auto|FILE",
              "go on where a checkpoint was saved, as if training had never\n"
              "stopped; auto: the most advanced that is there. Where one file\n"
              "holds the best epoch, those after it are trained again",
              text(options.resume));
}

}  // namespace

int TrainOptions::verbosity() const {
  if (!verbose.empty()) return verbose[0] - '0';
  return output_is_terminal() ? 1 : 2;
}

std::string TrainOptions::path_in_dir(const std::string& name) const {
  return dir.empty() || name.starts_with("/") ? name : dir + "/" + name;
}

void declare_train_options(CommandLine& line, TrainOptions& options,
                           const std::vector<std::string>& recipes) {
  options.recipe = recipes.front();
  line.option("recipe", "NAME", joined(recipes, "|") + " (default " + options.recipe + ")",
              one_of(options.recipe, recipes));
  declare_training(line, options);
  declare_data(line, options);
  declare_machine(line, options);
  declare_exchange_options(line, options.distributed);
  declare_safety(line, options);
  declare_interruptions(line, options);
  declare_checkpoints(line, options);
  declare_output(line, options);
}

void check_train_options(const TrainOptions& options) {
  require<UsageError>(!options.batch_size || !options.global_batch_size, "--batch-size ",
                      options.batch_size.value_or(0), " and --global-batch-size ",
                      options.global_batch_size.value_or(0), " contradict each other: give one of them");
  require<UsageError>(
      options.dir.find("://") == std::string::npos, "--dir ", options.dir,
      ": is no directory of this machine: mount it, or train into one and --upload its files");
  require<UsageError>(options.dir.find_first_of("{}") == std::string::npos, "--dir ", options.dir,
                      ": braces are filled in, in names of checkpoints: give another, or go there and give "
                      "--dir .");
  require<UsageError>(!options.mtbf || options.save_steps == 0, "--mtbf is for --save-steps auto");
  check(options.distributed);
  const std::string exchange = to_string(options.distributed);
  require<UsageError>(!options.deterministic || exchange == to_string(DistributedOptions()),
                      "--deterministic sums gradients in one fixed order, which excludes ", exchange);
}

}  // namespace ronde::apps
