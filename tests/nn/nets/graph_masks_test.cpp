// Masks in the configs of nets, as Keras 3 notes them: which operations made them, and who was given which.
#include <ronde/nn/graph.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

std::string result_of(const std::string& layer) {
  return cat(R"({"class_name": "__keras_tensor__", "config": {"keras_history": [")", layer, R"(", 0, 0]}})");
}

std::string entry(const std::string& class_name, const std::string& name, const std::string& config,
                  const std::string& arguments, const std::string& named = "") {
  return cat(R"({"class_name": ")", class_name, R"(", "name": ")", name, R"(", "config": {"name": ")", name,
             "\"", config, R"(}, "inbound_nodes": [{"args": [)", arguments, R"(], "kwargs": {)", named,
             "}}]}");
}

/// words -> embedding -> dense -> lstm, which is given `mask`, with these operations.
std::string net_with(const std::string& operations, const std::string& mask,
                     const std::string& output = "lstm", const std::string& mask_zero = "true") {
  return cat(R"({"name": "net", "input_layers": [["words", 0, 0]], "output_layers": [[")", output,
             R"(", 0, 0]],
      "layers": [{"class_name": "InputLayer", "config": {"name": "words"}, "name": "words", "inbound_nodes": []}, )",
             entry("Embedding", "embedding",
                   cat(R"(, "input_dim": 5, "output_dim": 2, "mask_zero": )", mask_zero), result_of("words")),
             ", ", operations, ", ", entry("Dense", "dense", R"(, "units": 3)", result_of("embedding")), ", ",
             entry("LSTM", "lstm", R"(, "units": 3)", result_of("dense"),
                   cat(R"("training": false, "mask": )", result_of(mask))),
             "]}");
}

std::string not_equal(const std::string& of = "words", const std::string& number = "0") {
  return entry("NotEqual", "ne", "", cat(result_of(of), ", ", number));
}

TEST(GraphMasks, AreThoseThatLayersFindThemselves) {
  const std::string both = cat(result_of("ne"), ", ", result_of("ne"));
  const std::string merged = cat(not_equal(), ", ", entry("LogicalOr", "or", "", both), ", ",
                                 entry("Any", "any", "", result_of("or")), ", ",
                                 entry("ConvertToTensor", "handed_on", "", result_of("any")));
  for (const auto& [operations, mask] : {std::pair{not_equal(), "ne"}, std::pair{merged, "handed_on"}}) {
    const auto net = parse("Functional", net_with(operations, mask));
    const auto& graph = dynamic_cast<const Graph&>(*net);
    EXPECT_EQ(graph.nodes().size(), 4u);  // the input and three layers
    const std::vector<std::int32_t> one{3, 0}, two{3, 0, 0};
    net->build({3}, in_f64());
    expect_close((*net)(Tensor::from<std::int32_t>({1, 3}, two)).value(),
                 (*net)(Tensor::from<std::int32_t>({1, 2}, one)).value().to_vector<double>(), 1e-14, "state");
  }
}

// Its result has the mask of its query.
TEST(GraphMasks, PassAttentions) {
  const std::string handed_on =
      cat(not_equal(), ", ", entry("ConvertToTensor", "handed_on", "", result_of("ne")));
  const std::string json = net_with(handed_on, "handed_on");
  const std::string dense = entry("Dense", "dense", R"(, "units": 3)", result_of("embedding"));
  const std::string query = result_of("embedding");
  for (const char* attention : {"Attention", "AdditiveAttention"}) {
    std::string with_attention = json;
    with_attention.replace(json.find(dense), dense.size(),
                           entry(attention, "dense", "", cat("[", query, ", ", query, "]")));
    const auto net = parse("Functional", with_attention);
    net->build({3}, in_f64());
    const std::vector<std::int32_t> one{3, 2}, two{3, 2, 0};
    expect_close((*net)(Tensor::from<std::int32_t>({1, 3}, two)).value(),
                 (*net)(Tensor::from<std::int32_t>({1, 2}, one)).value().to_vector<double>(), 1e-14,
                 attention);
  }
}

TEST(GraphMasks, OfSomethingElseAreRefused) {
  const auto refused = [](const std::string& json) {
    EXPECT_EQ(
        message_of<InputError>([&] { parse("Functional", json); }),
        "[Functional \"net\"] inbound_nodes: a call of the LSTM \"lstm\" has another mask than that of its "
        "input, which is not supported");
  };
  refused(net_with(not_equal("dense"), "ne"));
  refused(net_with(not_equal("words", "7"), "ne"));
  refused(net_with(not_equal(), "words"));
  refused(net_with(not_equal(), "ne", "lstm", "false"));
  refused(net_with(entry("Any", "any", "", ""), "any"));
  // In circles.
  refused(net_with(entry("LogicalOr", "or", "", cat(result_of("or"), ", ", result_of("or"))), "or"));
}

TEST(GraphMasks, AreNoResults) {
  EXPECT_EQ(
      message_of<InputError>([&] { parse("Functional", net_with(not_equal(), "ne", "ne")); }),
      "[Functional \"net\"] inbound_nodes: \"ne\" is a NotEqual, which is supported only of one layer's "
      "result, and by a number");
}

}  // namespace
}  // namespace ronde::test
