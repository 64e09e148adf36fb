// `ronde evaluate FILE --data mnist|fashion-mnist|cifar10|DIR`, on any number of ranks
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/subset.h>
#include <ronde/models/model.h>
#include <ronde/nn/sgd.h>

#include "report/evaluation_details.h"
#include "ronde/commands.h"
#include "ronde/evaluation_output.h"
#include "ronde/file_content.h"
#include "ronde/source_data.h"

namespace ronde::apps {
namespace {

struct EvaluateOptions {
  std::string file;
  DataRequest data;
  std::optional<std::int64_t> samples;
  std::int64_t batch_size = 128;
  bool confusion = false;
  bool json = false;
};

std::string output(const EvaluateOptions& options, const Evaluated& evaluated,
                   const EvaluationDetails& details) {
  if (options.json) return evaluation_json(evaluated, details);
  return cat(evaluation_text(evaluated, details), options.confusion ? confusion_text(details) : "");
}

/// Data sets that are named on the command line have class labels.
void require_classifier(Model& model, const std::string& file, const std::string& data) {
  const Shape outputs = model.module().output_shape().tail(1);
  const std::string loss = model.loss().name();
  require<InputError>(loss.ends_with("categorical_crossentropy"), file, ": its loss, ", loss,
                      ", wants targets of shape ", outputs, " for each sample, but ", data,
                      " has class labels: evaluate it in a program of your own, with Model::evaluate");
  require<InputError>(outputs.rank() == 1 && outputs.back() >= 2, file, ": its outputs are ", outputs,
                      " for a sample, expected one for each class");
}

/// Of a net that scales bytes itself.
void say_byte_scale(const std::string& file, const std::string& source, const NamedData& data) {
  if (!data.byte_scale) return;
  if (*data.byte_scale == 1.0) return note_bytes_stay(file);
  std::fprintf(
      stderr,
      "ronde: warning: %s: the net begins with a Rescaling or Normalization of bytes, but those of %s "
      "are scaled already: pack them with --scale 1\n",
      file.c_str(), source.c_str());
}

void evaluate(Communicator& world, const EvaluateOptions& options) {
  Model model = load_model(options.file, {.communicator = &world});
  require_one_output(model.module(), options.file);
  if (!model.has_loss()) {
    if (world.rank() == 0)
      std::fprintf(stderr,
                   "ronde: warning: %s: has no loss that is known, so this is categorical_crossentropy\n",
                   options.file.c_str());
    model.compile(
        {.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  }
  require_classifier(model, options.file, options.data.name);
  DataRequest request = options.data;
  request.shape = model.module().input_shape();
  request.byte_scale = byte_scale_for(model.module());
  if (request.resize) request.given.emplace_back("--resize");
  NamedData data;
  collectively(world, [&] {
    data = open_data(request);
    require<InputError>(data.dataset->input_shape() == *request.shape, request.name, ": samples are ",
                        data.dataset->input_shape(), ", the net takes ", *request.shape,
                        data.can_resize && !request.resize ? ": give --resize" : "");
  });
  if (world.rank() == 0 && scales_bytes(model.module())) say_byte_scale(options.file, request.name, data);
  const Subset part = subset(*data.dataset, options.samples.value_or(data.dataset->size()));
  const EvaluationDetails details = collect_details(model, part,
                                                    {.batch_size = options.batch_size,
                                                     .mistakes = 0,
                                                     .loader_threads = default_backend().threads().size()});
  const std::string which =
      part.size() < data.dataset->size() ? cat(", the first ", grouped(part.size())) : "";
  if (world.rank() == 0 && !std::isfinite(details.test.loss))
    std::fprintf(stderr, "ronde: warning: %s: its loss on these data is no finite number\n",
                 options.file.c_str());
  const Evaluated evaluated{options.file, cat(data.description, which), world.size()};
  if (world.rank() == 0) std::fputs(output(options, evaluated, details).c_str(), stdout);
}

}  // namespace

Command evaluate_command() {
  const auto options = std::make_shared<EvaluateOptions>();
  DataRequest& data = options->data;
  return {
      .name = "evaluate",
      .help = "loss and accuracy of a model on a data set, also by class",
      .details =
          "On one process or under mpirun; counts are exact on any number of ranks.\n\n"
          "Bytes of pictures (a folder, or a table of nothing but whole numbers from 0 to 255) are scaled\n"
          "to 0 ... 1, unless the net begins with a Rescaling or Normalization of bytes; a packed file is "
          "as\n"
          "it was packed; other numbers are as they are.\n\n"
          "  ronde evaluate checkpoint.h5 --data mnist\n"
          "  mpirun -np 4 ronde evaluate model.h5 --data photos --resize",
      .arguments =
          {argument("FILE", "model file", text(options->file)),
           required_option("--data", "NAME", "mnist|fashion-mnist|cifar10|FOLDER|TABLE.csv|PACKED",
                           text(data.name)),
           option("--split", "PART", "train|test, of the sets with a name (default test)",
                  noted(data, "--split", one_of(data.split, {"train", "test"}))),
           option("--samples,--test-samples", "N", "use the first N", whole_number(options->samples, 1)),
           option("--batch-size", "N", "images a rank computes at once (default 128)",
                  whole_number(options->batch_size, 1)),
           flag("--resize", "bring pictures of a folder to the net's size", data.resize),
           option("--label-column", "NAME", "of a table: a name, first or last",
                  noted(data, "--label-column", text(data.label_column))),
           option("--scale", "X", "the net sees b * X + offset (default 1/255 for bytes of pictures, else 1)",
                  noted(data, "--scale", fraction(data.scale))),
           option("--offset", "X", "see --scale (default 0)", noted(data, "--offset", fraction(data.offset))),
           option("--data-dir", "DIR", "of the sets with a name (default: $RONDE_DATA, else ~/.cache/ronde)",
                  noted(data, "--data-dir", text(data.directory))),
           flag("--confusion", "also how often each class was taken for which", options->confusion),
           flag("--json", "for scripts: all of it, the confusion matrix too", options->json)},
      .run = [options](Communicator& world) { evaluate(world, *options); }};
}

}  // namespace ronde::apps
