// `ronde evaluate FILE --data mnist|cifar10|DIR`, on any number of ranks
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/subset.h>
#include <ronde/models/model.h>
#include <ronde/nn/sgd.h>

#include "common/banner.h"
#include "report/evaluation_details.h"
#include "report/html_text.h"
#include "ronde/commands.h"
#include "ronde/file_content.h"
#include "ronde/source_data.h"

namespace ronde::apps {
namespace {

struct EvaluateOptions {
  std::string file;
  DataRequest data;
  std::optional<std::int64_t> samples;
  std::int64_t batch_size = 128;
};

/// "96.67 %"; "-" of nothing.
std::string percentage(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? fixed(100.0 * static_cast<double>(part) / static_cast<double>(whole), 2) + " %" : "-";
}

void print_classes(const EvaluationDetails& details) {
  int width = 5;
  for (const std::string& name : details.class_names) width = std::max(width, static_cast<int>(name.size()));
  std::printf("\n  %-*s  accuracy   right     of\n", width, "class");
  for (std::int64_t label = 0; label < details.classes(); ++label) {
    const std::int64_t samples = details.count(label), right = details.confused(label, label);
    std::printf("  %-*s  %8s  %6s %6s\n", width, details.class_names[static_cast<std::size_t>(label)].c_str(),
                percentage(right, samples).c_str(), grouped(right).c_str(), grouped(samples).c_str());
  }
}

void print_result(const std::string& description, const EvaluationDetails& details) {
  const TestReport& test = details.test;
  std::printf("%s\nLoss: %.4f\nAccuracy: %.4f (%s of %s)\n", description.c_str(), test.loss, test.accuracy,
              grouped(test.correct).c_str(), grouped(test.count).c_str());
  print_classes(details);
}

void evaluate(Communicator& world, const EvaluateOptions& options) {
  Model model = load_model(options.file, {.communicator = &world});
  if (!model.has_loss()) {
    if (world.rank() == 0)
      std::fprintf(stderr,
                   "ronde: warning: %s: has no loss that is known, so this is categorical_crossentropy\n",
                   options.file.c_str());
    model.compile(
        {.optimizer = std::make_unique<SGD>(), .loss = std::make_unique<CategoricalCrossentropy>()});
  }
  DataRequest request = options.data;
  request.shape = model.module().input_shape();
  NamedData data;
  collectively(world, [&] {
    data = open_data(request);
    require<InputError>(data.dataset->input_shape() == *request.shape, request.name, ": samples are ",
                        data.dataset->input_shape(), ", the net takes ", *request.shape,
                        data.can_resize && !request.resize ? ": give --resize" : "");
  });
  const Subset part = subset(*data.dataset, options.samples.value_or(data.dataset->size()));
  const EvaluationDetails details = collect_details(model, part,
                                                    {.batch_size = options.batch_size,
                                                     .mistakes = 0,
                                                     .loader_threads = default_backend().threads().size()});
  const std::string which =
      part.size() < data.dataset->size() ? cat(", the first ", grouped(part.size())) : "";
  if (world.rank() == 0) print_result(data.description + which, details);
}

}  // namespace

Command evaluate_command() {
  const auto options = std::make_shared<EvaluateOptions>();
  DataRequest& data = options->data;
  return {.name = "evaluate",
          .help = "loss and accuracy of a model on a data set, also by class",
          .details =
              "On one process or under mpirun; counts are exact on any number of ranks.\n\n"
              "  ronde evaluate checkpoint.h5 --data mnist\n"
              "  mpirun -np 4 ronde evaluate model.h5 --data photos --resize",
          .arguments =
              {argument("FILE", "model file", text(options->file)),
               required_option("--data", "NAME", "mnist|cifar10|FOLDER|TABLE.csv|PACKED", text(data.name)),
               option("--split", "PART", "train|test, of mnist and cifar10 (default test)",
                      one_of(data.split, {"train", "test"})),
               option("--samples,--test-samples", "N", "use the first N", whole_number(options->samples, 1)),
               option("--batch-size", "N", "images a rank computes at once (default 128)",
                      whole_number(options->batch_size, 1)),
               flag("--resize", "bring pictures of a folder to the net's size", data.resize),
               option("--label-column", "NAME", "of a table: a name, first or last", text(data.label_column)),
               option("--scale", "X", "the net sees byte * X + offset (default 1/255)", fraction(data.scale)),
               option("--offset", "X", "see --scale (default 0)", fraction(data.offset)),
               option("--data-dir", "DIR", "of mnist and cifar10 (default: $RONDE_DATA, else ~/.cache/ronde)",
                      text(data.directory))},
          .run = [options](Communicator& world) { evaluate(world, *options); }};
}

}  // namespace ronde::apps
