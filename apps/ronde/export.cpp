// `ronde export FILE --to FORMAT OUT`
#include <cstdio>
#include <memory>

#include <ronde/core/error.h>
#include <ronde/models/export_onnx.h>
#include <ronde/models/model.h>
#include <ronde/models/safetensors.h>
#include <ronde/models/weights_npz.h>

#include "ronde/commands.h"
#include "ronde/file_content.h"

namespace ronde::apps {
namespace {

struct ExportOptions {
  std::string file;
  std::string output;
  std::string format;
  std::string names = "keras";
  std::string optimizer_state = "none";
};

std::string format_of(const ExportOptions& options) {
  if (!options.format.empty()) return options.format;
  for (const char* format : {"onnx", "safetensors", "npz", "keras", "h5"})
    if (options.output.ends_with(cat(".", format))) return format;
  throw UsageError(
      cat("export ", options.output, ": give --to onnx, safetensors or npz, or a file *.h5 or *.keras"));
}

bool is_kerases(const std::string& format) {
  return format == "keras" || format == "h5";
}

SaveOptions save_options(const Model& model, const ExportOptions& options) {
  if (options.optimizer_state == "none") return {};
  require<UsageError>(model.is_compiled(), "export ", options.file, ": --optimizer-state ",
                      options.optimizer_state, ": the file has no optimizer");
  return {options.optimizer_state == "tf2" ? KerasOptimizerState::tf2 : KerasOptimizerState::keras3};
}

void write_keras(Model& model, const ExportOptions& options, const std::string& format) {
  const std::string& path = options.output;
  // The ending is what Keras goes by, too.
  require<UsageError>(path.ends_with(cat(".", format)), "export ", path, ": --to ", format,
                      " writes a file that ends in .", format);
  if (path.ends_with(".weights.h5")) return model.save_weights(path);
  model.save(path, save_options(model, options));
}

void export_model(const ExportOptions& options) {
  const std::string format = format_of(options);
  require<UsageError>(is_kerases(format) || options.optimizer_state == "none", "export ", options.output,
                      ": --optimizer-state is for Keras' files, which --to ", format, " does not write");
  Model model = load_model(options.file);
  const WeightNames names = options.names == "torch" ? WeightNames::torch : WeightNames::keras;
  if (format == "onnx") write_onnx(options.output, model.module());
  if (format == "safetensors") write_safetensors(options.output, model.module(), names);
  if (format == "npz") write_npz(options.output, model.module(), names);
  if (is_kerases(format)) write_keras(model, options, format);
  std::printf("%s\n", options.output.c_str());
}

}  // namespace

Command export_command() {
  const auto options = std::make_shared<ExportOptions>();
  return {
      .name = "export",
      .help = "write a model for other programs: ONNX, safetensors, npz, Keras' .h5 and .keras",
      .details =
          "ONNX holds the whole net, for onnxruntime and others; safetensors and npz its weights. Keras' two "
          "kinds of files, .h5 and .keras, become each other, with what training in Ronde goes on with; with --optimizer-state Keras goes on with it too.\n\n"
          "  ronde export model.h5 model.keras\n"
          "  ronde export model.h5 --to onnx model.onnx\n"
          "  ronde export model.h5 --to safetensors --names torch model.safetensors",
      .arguments = {argument("FILE", "model file", text(options->file)),
                    argument("OUT", "file to write", text(options->output)),
                    option("--to", "FORMAT", "onnx|safetensors|npz|keras|h5 (default: by OUT's ending)",
                           one_of(options->format, {"onnx", "safetensors", "npz", "keras", "h5"})),
                    option("--names", "STYLE", "keras|torch: names and layouts of weights (default keras)",
                           one_of(options->names, {"keras", "torch"})),
                    option("--optimizer-state", "HOW",
                           "none|keras3|tf2: put the optimizer's state where Keras 3 (a .keras file only) or "
                           "TensorFlow 2 looks for it, too (default none)",
                           one_of(options->optimizer_state, {"none", "keras3", "tf2"}))},
      .run = [options](Communicator& world) { on_main(world, [&] { export_model(*options); }); }};
}

}  // namespace ronde::apps
