// Files whose inputs have a dtype: what they get is cast to it in Keras, and is not here, which is said where
// it may matter.
#include <ronde/models/saved_model.h>
#include <ronde/nn/concatenate.h>
#include <ronde/nn/embedding.h>
#include <ronde/nn/graph.h>

#include "json/json.h"
#include "models/testing.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

using Lines = std::vector<std::string>;

std::string line_of(const std::string& dtype) {
  return cat("dtype ", dtype, " of an input: other numbers are used as they are here, where Keras makes ",
             dtype, " of them");
}

/// What is said when a file of this net is loaded, in which `before` of its description is `after`, wherever
/// it is; without the path.
Lines lines_of(std::unique_ptr<Module> net, const Shape& shape, const std::string& before,
               const std::string& after) {
  const TempDir dir(memory_directory());
  Model(std::move(net), shape).save(dir / "plain.h5");
  SavedModel file = read_saved_model(dir / "plain.h5");
  std::string text = to_json(file.model_config);
  for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at + after.size()))
    text.replace(at, before.size(), after);
  file.model_config = from_json(text);
  const std::string path = dir / "net.h5";
  write_saved_model(path, std::move(file));
  Lines lines;
  Model::load(path,
              {.warn = [&](const std::string& line) { lines.push_back(line.substr(path.size() + 2)); }});
  return lines;
}

Lines with_inputs_of(const std::string& dtype, std::unique_ptr<Module> net, const Shape& shape) {
  return lines_of(std::move(net), shape, R"("dtype":"float32","sparse")",
                  cat(R"("dtype":")", dtype, R"(","sparse")"));
}

std::unique_ptr<Module> dense_net() {
  return std::make_unique<Sequential>(Dense({.units = 2}));
}

Embedding words() {
  return Embedding({.input_dim = 4, .output_dim = 2});
}

TEST(InputDtypes, AreSaidWhereNumbersAreNotCastToThem) {
  for (const char* dtype : {"int32", "uint8", "bool", "float16"})
    EXPECT_EQ(with_inputs_of(dtype, dense_net(), {3}), Lines{line_of(dtype)});
  EXPECT_EQ(with_inputs_of("float64", dense_net(), {3}), Lines{}) << "no digits are lost";
  EXPECT_EQ(lines_of(dense_net(), {3}, R"("dtype":"float32")", R"("dtype":"float16")"),
            Lines{"dtype float16 of 1 layer: computed in float32 here"})
      << "once, with the layers'";
}

// An Embedding makes whole numbers of what it gets, here as in Keras.
TEST(InputDtypes, DoNotMatterToEmbeddings) {
  EXPECT_EQ(with_inputs_of("int32", std::make_unique<Sequential>(words(), Flatten()), {3}), Lines{});
  auto nested = std::make_unique<Sequential>(Sequential(words(), Flatten()), Dense({.units = 1}));
  EXPECT_EQ(with_inputs_of("int32", std::move(nested), {3}), Lines{});
}

TEST(InputDtypes, MatterWhereAnotherLayerTakesTheInputToo) {
  for (const bool is_embedded : {false, true}) {
    auto net = std::make_unique<Graph>();
    const Symbol a = net->input("words", {3}), b = net->input("others", {6});
    const Symbol y =
        is_embedded ? net->add(Flatten(), net->add(words(), b)) : net->add(Dense({.units = 2}), b);
    net->output(net->add(Concatenate(), {net->add(Flatten(), net->add(words(), a)), y}));
    EXPECT_EQ(with_inputs_of("int32", std::move(net), {9}), is_embedded ? Lines{} : Lines{line_of("int32")});
  }
  auto net = std::make_unique<Graph>();
  const Symbol x = net->input();
  net->output(net->add(Concatenate(), {x, net->add(Flatten(), net->add(words(), x))}));
  EXPECT_EQ(with_inputs_of("int32", std::move(net), {3}), Lines{line_of("int32")});
}

TEST(InputDtypes, OfNetsWithinNets) {
  auto inner = std::make_unique<Graph>();
  inner->output(inner->add(Dense({.units = 2}), inner->input("numbers", {6})));
  auto net = std::make_unique<Graph>();
  net->output(net->add(std::move(inner), net->add(Flatten(), net->add(words(), net->input("words", {3})))));
  EXPECT_EQ(with_inputs_of("int32", std::move(net), {3}), Lines{line_of("int32")});
}

}  // namespace
}  // namespace ronde::test
