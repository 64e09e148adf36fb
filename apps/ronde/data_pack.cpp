// `ronde data pack SRC OUT`
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <optional>

#include <ronde/core/backend.h>
#include <ronde/core/counted.h>
#include <ronde/core/thread_pool.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/data/packed_dataset.h>

#include "ronde/commands.h"
#include "ronde/source_data.h"

namespace ronde::apps {
namespace {

struct DataPackOptions {
  DataRequest data = {.name = {}, .directory = {}, .split = "train"};
  bool grey = false;
  std::string output;
};

void show_progress(std::int64_t samples, std::int64_t total) {
  if (::isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "\r%s of %s%s", grouped(samples).c_str(), grouped(total).c_str(),
               samples == total ? "\n" : "");
}

/// Numbers that are no bytes stay numbers.
DType stored_dtype(const Dataset& data) {
  const auto* in_memory = dynamic_cast<const InMemoryDataset*>(&data);
  return in_memory != nullptr && in_memory->inputs().dtype() != DType::u8 ? in_memory->inputs().dtype()
                                                                          : DType::u8;
}

/// Height and width as they are; without them, what only says that pictures are grey.
Shape with_one_channel(const std::optional<Shape>& shape) {
  return shape ? Shape{(*shape)[0], (*shape)[1], 1} : Shape{0, 0, 1};
}

void pack(DataPackOptions options) {
  options.data.resize = options.data.shape.has_value();
  if (options.grey) options.data.given.emplace_back("--grey");
  if (options.grey) options.data.shape = with_one_channel(options.data.shape);
  const NamedData data = open_data(options.data);
  PackOptions pack{.dtype = stored_dtype(*data.dataset),
                   .scale = options.data.scale.value_or(kByteScale),
                   .offset = options.data.offset,
                   .threads = default_backend().threads().size(),
                   .progress = show_progress};
  if (const auto* in_memory = dynamic_cast<const InMemoryDataset*>(data.dataset.get()))
    pack.scale = in_memory->options().scale, pack.offset = in_memory->options().offset;
  pack_dataset(*data.dataset, options.output, pack);
  const PackedDataset packed(options.output);
  std::printf("%s: %s of shape %s, %s\n", options.output.c_str(),
              to_string(counted(packed.size(), "sample")).c_str(), to_string(packed.input_shape()).c_str(),
              to_string(packed.stored_dtype()).c_str());
}

}  // namespace

Command data_pack_command() {
  const auto options = std::make_shared<DataPackOptions>();
  DataRequest& data = options->data;
  return {
      .name = "data pack",
      .help = "make one file of a data set, for sets larger than memory",
      .details =
          "SRC is mnist, fashion-mnist, cifar10, a folder with one sub-folder of PNG and JPEG pictures\n"
          "for each class, or a .csv table of numbers with a column of class labels.\n\n"
          "  ronde data pack pets pets.ronde --size 64x64",
      .arguments =
          {argument("SRC", "mnist|fashion-mnist|cifar10|FOLDER|TABLE.csv", text(data.name)),
           argument("OUT", "file to write", text(options->output)),
           option("--size", "HxW[xC]", "resize pictures; of a table, what its columns are",
                  noted(data, "--size", image_shape(data.shape))),
           flag("--grey", "store pictures of a folder with one channel", options->grey),
           option("--split", "PART", "train|test, of the sets with a name (default train)",
                  noted(data, "--split", one_of(data.split, {"train", "test"}))),
           option("--label-column", "NAME", "of a table: a name, first or last (default: label, else first)",
                  noted(data, "--label-column", text(data.label_column))),
           option("--scale", "X", "b stands for b * X + offset (default 1/255 for bytes of pictures, else 1)",
                  noted(data, "--scale", fraction(data.scale))),
           option("--offset", "X", "see --scale (default 0)", noted(data, "--offset", fraction(data.offset))),
           option("--data-dir", "DIR", "of the sets with a name (default: $RONDE_DATA, else ~/.cache/ronde)",
                  noted(data, "--data-dir", text(data.directory)))},
      .run = [options](Communicator& world) { on_main(world, [&] { pack(*options); }); }};
}

}  // namespace ronde::apps
