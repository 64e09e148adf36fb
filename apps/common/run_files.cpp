#include "common/run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include <ronde/core/error.h>
#include <ronde/core/new_file.h>
#include <ronde/core/text.h>
#include <ronde/models/model_checkpoint.h>

#include "common/output_place.h"

namespace ronde::apps {
namespace {

constexpr const char* kOnSignal = "on-signal.h5";
constexpr const char* kNewRun = ".new-run";
constexpr const char* kStepPattern = "model-{epoch:03d}-{batch:05d}.h5";

// Whoever may write in a directory may put other files in place of ours, unless its sticky bit forbids that.
// Shared scratch directories are often so, and the owner may not even be able to change them: no error.
void warn_if_open_to_all(const std::filesystem::path& directory) {
  struct stat info {};
  const std::string name = directory.empty() ? "." : directory.string();
  if (::stat(name.c_str(), &info) != 0 || (info.st_mode & S_IWOTH) == 0 || (info.st_mode & S_ISVTX) != 0)
    return;
  std::fprintf(
      stderr,
      "ronde: warning: %s: every user of this machine may replace the files in it: chmod o-w, or +t\n",
      name.c_str());
}

// What stands in braces, without its format; "{{" is no brace. Whether braces fit ModelCheckpoint looks
// itself.
std::vector<std::string> names_in(const std::string& pattern) {
  std::vector<std::string> names;
  for (std::size_t at = pattern.find('{'); at < pattern.size(); at = pattern.find('{', at)) {
    const std::size_t end = pattern.find('}', at);
    if (pattern[at + 1] == '{') {
      at += 2;
    } else if (end == std::string::npos) {
      break;
    } else {
      const std::string inside = pattern.substr(at + 1, end - at - 1);
      names.push_back(inside.substr(0, inside.find(':')));
      at = end;
    }
  }
  return names;
}

// Else the first epoch would be lost.
void require_known_names(const TrainOptions& options, const Recipe& recipe) {
  std::vector<std::string> known{"epoch", "loss", "accuracy"};
  if (recipe.validate_each_epoch) known.insert(known.end(), {"val_loss", "val_accuracy"});
  if (options.warmup_epochs > 0) known.emplace_back("learning_rate");
  for (const std::string& name : names_in(options.checkpoint))
    require<UsageError>(std::find(known.begin(), known.end(), name) != known.end(), "--checkpoint ",
                        options.checkpoint, ": there is no {", name, "} after an epoch: give ",
                        joined(known));
}

// As the callback does, but before any work.
void require_pattern(const std::string& pattern) {
  const ModelCheckpoint checked({.filepath = pattern});
}

// The directory of a file, without a part that is still to be filled in, as in `{epoch}/model.h5`.
std::filesystem::path directory_of(const std::string& file) {
  return std::filesystem::path(file.substr(0, file.find('{'))).parent_path();
}

// Options that name one file, whose folder is not made for it.
std::vector<std::pair<std::string, std::string>> single_files(const TrainOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  if (!options.timeline.empty()) files.emplace_back("--timeline", options.timeline);
  if (!options.metrics_json.empty()) files.emplace_back("--metrics-json", options.metrics_json);
  return files;
}

struct Output {
  std::string origin;  // in the user's words
  std::string file;
};

// All whose names are known: those of patterns differ from epoch to epoch.
std::vector<Output> outputs_of(const TrainOptions& options, const RunFiles& files) {
  const std::string logs = options.log_dir.empty() ? "--dir" : "--log-dir";
  std::vector<Output> outputs{
      {options.checkpoint.empty() ? "the recipe's checkpoint" : "--checkpoint", files.epoch_checkpoints},
      {"what a signal makes the run save", files.on_signal},
      {"the recipe's saved model", files.saved_model},
      {"--timeline", options.timeline},
      {"the report of --dir", files.report}};
  for (const std::string& metrics : files.metrics)
    outputs.push_back({metrics == options.metrics_json ? "--metrics-json" : "the metrics of --dir", metrics});
  if (!files.logs.empty())
    for (const char* name : {"training.csv", "evaluation.json"})
      outputs.push_back({cat("the logs of ", logs), cat(files.logs, "/", name)});
  std::erase_if(outputs, [](const Output& output) {
    return output.file.empty() || output.file.find('{') != std::string::npos;
  });
  return outputs;
}

// Else one would replace the other, at the end of the run or in each epoch.
void require_different_files(const TrainOptions& options, const RunFiles& files) {
  std::map<std::string, const Output*> found;
  const std::vector<Output> outputs = outputs_of(options, files);
  for (const Output& output : outputs) {
    std::error_code error;
    const std::filesystem::path path =
        std::filesystem::weakly_canonical(std::filesystem::absolute(output.file, error), error);
    const auto [before, is_new] = found.emplace(error ? output.file : path.string(), &output);
    const Output& other = *before->second;
    const bool are_alike = other.origin == "--metrics-json" && output.origin == "the metrics of --dir";
    require<UsageError>(is_new || are_alike, other.origin, " and ", output.origin, " would be one file, ",
                        output.file, ": give each its own");
  }
}

// Whether the file's folder is one of those that a run makes, or lies above one.
bool will_be_made(const std::string& file, const TrainOptions& options) {
  const std::string folder = std::filesystem::absolute(file).lexically_normal().parent_path().string();
  for (const std::string& made : {options.dir, options.log_dir, options.path_in_dir("logs")}) {
    const std::string path = std::filesystem::absolute(made + "/").lexically_normal().string();
    if (!made.empty() && path.starts_with(folder + "/")) return true;
  }
  return false;
}

}  // namespace

RunFiles run_files(const TrainOptions& options, const Recipe& recipe, const TrainPlan& plan) {
  const auto in_dir = [&](const std::string& name) { return name.empty() ? "" : options.path_in_dir(name); };
  RunFiles files;
  if (!options.checkpoint.empty()) require_pattern(options.checkpoint);
  require_known_names(options, recipe);
  files.epoch_checkpoints = in_dir(options.checkpoint.empty() ? recipe.checkpoint : options.checkpoint);
  if (plan.save_steps > 0 || plan.mtbf > 0.0) files.step_checkpoints = in_dir(kStepPattern);
  const bool has_many =
      !files.step_checkpoints.empty() || files.epoch_checkpoints.find('{') != std::string::npos;
  require<UsageError>(!options.keep || has_many, "--keep ", options.keep.value_or(0), ": ",
                      files.epoch_checkpoints,
                      " is one file: give --save-steps, or a --checkpoint with {epoch} in it");
  files.on_signal = in_dir(kOnSignal);
  files.new_run = in_dir(kNewRun);
  files.saved_model = in_dir(recipe.saved_model);
  files.logs = options.log_dir;
  if (!options.metrics_json.empty()) files.metrics.push_back(options.metrics_json);
  if (options.dir.empty()) return files;
  if (files.logs.empty()) files.logs = in_dir("logs");
  if (const std::string own = in_dir("metrics.json"); own != options.metrics_json)
    files.metrics.push_back(own);
  files.report = in_dir("report.html");
  return files;
}

void prepare_directories(Communicator& world, const TrainOptions& options, const RunFiles& files) {
  collectively(world, [&] {
    if (world.rank() != 0) return;
    require_different_files(options, files);
    const bool saves =
        !files.epoch_checkpoints.empty() || !files.step_checkpoints.empty() || !files.saved_model.empty();
    for (const auto& [option, file] : single_files(options))
      if (!will_be_made(file, options)) require_place(option, file);
    if (saves || !options.dir.empty()) make_place("--dir", options.dir);
    if (!options.checkpoint.empty()) make_place("--checkpoint", directory_of(files.epoch_checkpoints));
    if (!files.logs.empty()) make_place(options.log_dir.empty() ? "--dir" : "--log-dir", files.logs);
    for (const auto& [option, file] : single_files(options)) require_place(option, file);
    for (const std::string& file : {files.epoch_checkpoints, files.saved_model, files.report})
      require_replaceable(file);
    for (const std::string& file : files.metrics) require_replaceable(file);
    if (saves || !options.dir.empty()) warn_if_open_to_all(options.dir);
  });
}

}  // namespace ronde::apps
