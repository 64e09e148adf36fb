#include <cmath>

#include <ronde/core/philox.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/bidirectional.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/gru.h>
#include <ronde/nn/lstm.h>
#include <ronde/nn/parameter_arena.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/simple_rnn.h>

#include "nn/config_json.h"
#include "nn/testing.h"

namespace ronde::test {
namespace {

using Row = std::vector<double>;

double sigmoid_of(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// The weights of a layer as rows of numbers, and its state, for one sample.
class NaiveCell {
 public:
  explicit NaiveCell(const Recurrent& layer)
      : units_(layer.options().units),
        kernel_(rows(layer, "kernel")),
        recurrent_(rows(layer, "recurrent_kernel")) {
    bias_ = layer.options().use_bias ? find_parameter(layer, "bias").variable.value().to_vector<double>()
                                     : Row(2 * kernel_.front().size());
    state = memory = Row(static_cast<std::size_t>(units_));
    mask = Row(state.size(), 1.0);
  }
  /// Element `column` of x * kernel, of (scale * state) * recurrent_kernel, and of the bias.
  double of_x(const Row& x, std::size_t column) const { return product(x, kernel_, column); }
  double of_state(std::size_t column, const Row& scale) const {
    Row scaled = state;
    for (std::size_t u = 0; u < scaled.size(); ++u) scaled[u] *= mask[u] * scale[u];
    return product(scaled, recurrent_, column);
  }
  double bias(std::size_t column) const { return bias_[column]; }
  std::size_t gate(int number, std::size_t unit) const {
    return static_cast<std::size_t>(number * units_) + unit;
  }
  /// Of the inputs and the state, with the bias.
  double gate_of(const Row& x, int number, std::size_t unit) const {
    const std::size_t column = gate(number, unit);
    return of_x(x, column) + of_state(column, Row(state.size(), 1.0)) + bias(column);
  }

  Row state, memory, mask;

 private:
  static std::vector<Row> rows(const Recurrent& layer, const std::string& name) {
    Tensor matrix;
    for (const Parameter& weight : layer.parameters())
      if (weight.name == name || weight.name.ends_with("/" + name)) matrix = weight.variable.value();
    std::vector<Row> all;
    for (std::int64_t i = 0; i < matrix.size(0); ++i)
      all.push_back(matrix.slice(0, i, i + 1).to_vector<double>());
    return all;
  }
  static double product(const Row& x, const std::vector<Row>& matrix, std::size_t column) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * matrix[i][column];
    return sum;
  }

  std::int64_t units_;
  std::vector<Row> kernel_, recurrent_;
  Row bias_;
};

using NaiveStep = void (*)(NaiveCell& cell, const Row& x);

void lstm_step(NaiveCell& cell, const Row& x) {
  Row state, memory;
  for (std::size_t u = 0; u < cell.state.size(); ++u) {
    memory.push_back(sigmoid_of(cell.gate_of(x, 1, u)) * cell.memory[u] +
                     sigmoid_of(cell.gate_of(x, 0, u)) * std::tanh(cell.gate_of(x, 2, u)));
    state.push_back(sigmoid_of(cell.gate_of(x, 3, u)) * std::tanh(memory.back()));
  }
  cell.state = state, cell.memory = memory;
}

void gru_step(NaiveCell& cell, const Row& x) {  // reset_after
  Row state;
  const std::size_t second = 3 * cell.state.size();
  const auto both = [&](int number, std::size_t u) {
    return cell.gate_of(x, number, u) + cell.bias(second + cell.gate(number, u));
  };
  for (std::size_t u = 0; u < cell.state.size(); ++u) {
    const double z = sigmoid_of(both(0, u)), r = sigmoid_of(both(1, u));
    const std::size_t column = cell.gate(2, u);
    const double remembered = cell.of_state(column, Row(cell.state.size(), 1.0)) + cell.bias(second + column);
    const double candidate = std::tanh(cell.of_x(x, column) + cell.bias(column) + r * remembered);
    state.push_back(z * cell.state[u] + (1.0 - z) * candidate);
  }
  cell.state = state;
}

void first_gru_step(NaiveCell& cell, const Row& x) {
  Row state, reset;
  for (std::size_t u = 0; u < cell.state.size(); ++u) reset.push_back(sigmoid_of(cell.gate_of(x, 1, u)));
  for (std::size_t u = 0; u < cell.state.size(); ++u) {
    const double z = sigmoid_of(cell.gate_of(x, 0, u));
    const std::size_t column = cell.gate(2, u);
    const double candidate =
        std::tanh(cell.of_x(x, column) + cell.of_state(column, reset) + cell.bias(column));
    state.push_back(z * cell.state[u] + (1.0 - z) * candidate);
  }
  cell.state = state;
}

void simple_step(NaiveCell& cell, const Row& x) {
  Row state;
  for (std::size_t u = 0; u < cell.state.size(); ++u) state.push_back(std::tanh(cell.gate_of(x, 0, u)));
  cell.state = state;
}

/// The states of all steps of all samples, or the last ones. `masks`: for each sample.
Row naive(const Recurrent& layer, const Tensor& x, NaiveStep step, const std::vector<Row>& masks = {}) {
  const RecurrentOptions& options = layer.options();
  Row outputs;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    NaiveCell cell(layer);
    if (!masks.empty()) cell.mask = masks[static_cast<std::size_t>(i)];
    for (std::int64_t t = 0; t < x.size(1); ++t) {
      const std::int64_t at = options.go_backwards ? x.size(1) - 1 - t : t;
      step(cell, x.slice(0, i, i + 1).slice(1, at, at + 1).to_vector<double>());
      if (options.return_sequences || t + 1 == x.size(1))
        outputs.insert(outputs.end(), cell.state.begin(), cell.state.end());
    }
  }
  return outputs;
}

void expect_naive(Recurrent&& layer, NaiveStep step, const Shape& input) {
  SCOPED_TRACE(text(layer));
  layer.build(input, in_f64());
  randomize(layer);
  const Tensor x = random_tensor(input.batch_of(3), 3);
  expect_close(layer(x).value(), naive(layer, x, step), 1e-12, "output");
  expect_module_gradients(layer, x);
}

TEST(Recurrent, MatchesNaiveStepsAndTheirGradients) {
  for (const bool all : {false, true}) {
    const Shape input{all ? 4 : 3, all ? 1 : 5};
    expect_naive(LSTM({.units = 2, .return_sequences = all, .go_backwards = all}), lstm_step, input);
    expect_naive(LSTM({.units = 3, .use_bias = false, .return_sequences = all}), lstm_step, {1, 2});
    expect_naive(GRU({.units = 3, .return_sequences = all}), gru_step, input);
    expect_naive(GRU({.units = 2, .go_backwards = true, .reset_after = false}), first_gru_step, input);
    expect_naive(GRU({.units = 1, .use_bias = false, .return_sequences = all, .reset_after = !all}),
                 all ? first_gru_step : gru_step, input);
    expect_naive(SimpleRNN({.units = 3, .return_sequences = all, .go_backwards = all}), simple_step, input);
  }
}

TEST(Recurrent, HasKerasWeightsInKerasOrder) {
  const auto expect = [](Module&& layer, const Shape& kernel, const Shape& bias) {
    layer.build({4, 5});
    const std::vector<Parameter> weights = layer.parameters();
    ASSERT_EQ(weights.size(), 3u);
    EXPECT_EQ(weights[0].name, "kernel");
    EXPECT_EQ(weights[0].variable.shape(), kernel);
    EXPECT_EQ(weights[1].name, "recurrent_kernel");
    EXPECT_EQ(weights[1].variable.shape(), (Shape{2, kernel[1]}));
    EXPECT_EQ(weights[2].name, "bias");
    EXPECT_EQ(weights[2].variable.shape(), bias);
    EXPECT_EQ(layer.output_shape(), (Shape{1, 2}));
  };
  expect(LSTM({.units = 2}), {5, 8}, {8});
  expect(GRU({.units = 2}), {5, 6}, {2, 6});
  expect(GRU({.units = 2, .reset_after = false}), {5, 6}, {6});
  expect(SimpleRNN({.units = 2}), {5, 2}, {2});
}

TEST(Recurrent, WeightsStartAsInKeras) {
  const auto bias = [](RecurrentOptions options) {
    LSTM layer(std::move(options));
    layer.build({3, 2}, in_f64());
    return find_parameter(layer, "bias").variable.value().to_vector<double>();
  };
  EXPECT_EQ(bias({.units = 2}), (Row{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(bias({.units = 1, .bias_initializer = Initializer::constant(0.5)}), (Row{0.5, 1, 0.5, 0.5}));
  EXPECT_EQ(bias({.units = 1, .unit_forget_bias = false}), (Row{0, 0, 0, 0}));
  GRU layer({.units = 3});
  layer.build({3, 2}, in_f64());
  const Tensor kernel = find_parameter(layer, "recurrent_kernel").variable.value();
  expect_close(matmul(kernel, kernel.permute({1, 0})).value(), {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-12, "K Kt");
}

Tensor keys_of(const std::vector<std::int64_t>& samples) {
  std::vector<std::int64_t> pairs;
  for (const std::int64_t sample : samples) pairs.insert(pairs.end(), {sample, 2});
  return Tensor::from<std::int64_t>({std::ssize(samples), 2}, pairs, &backend("cpu"));
}

/// What a Dropout at this path makes of ones.
Row mask_of(const std::string& path, std::int64_t sample, std::int64_t count) {
  Row mask;
  for (std::int64_t e = 0; e < count; ++e) {
    const Philox4 words = sample_bits(random_key(7, hash_name(path)), static_cast<std::uint64_t>(sample), 2,
                                      static_cast<std::uint64_t>(e) / 4);
    mask.push_back(uniform_float(words[static_cast<std::size_t>(e % 4)]) >= 0.5f ? 2.0 : 0.0);
  }
  return mask;
}

template <class Layer>
void expect_dropout(Layer&& layer, NaiveStep step) {
  layer.build({3, 4}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({2, 3, 4}, 3), dropped = x.clone();
  expect_close(layer(x).value(), naive(layer, x, step), 1e-12, "in inference");
  const std::vector<std::int64_t> samples{11, 5};
  std::vector<Row> masks;
  for (const std::int64_t i : {0, 1}) {
    const Row mask = mask_of("dropout", samples[static_cast<std::size_t>(i)], 4);
    for (std::int64_t e = 0; e < 12; ++e)
      dropped.data<double>()[i * 12 + e] *= mask[static_cast<std::size_t>(e % 4)];
    masks.push_back(
        mask_of("recurrent_dropout", samples[static_cast<std::size_t>(i)], layer.options().units));
  }
  const Context context{.training = true, .seed = 7, .sample_keys = keys_of(samples)};
  expect_close(layer(x, context).value(), naive(layer, dropped, step, masks), 1e-12, "in training");
  expect_module_gradients(layer, x, context);
}

TEST(Recurrent, DropsTheSameInAllSteps) {
  expect_dropout(LSTM({.units = 3, .dropout = 0.5, .recurrent_dropout = 0.5, .return_sequences = true}),
                 lstm_step);
  expect_dropout(GRU({.units = 3, .dropout = 0.5, .recurrent_dropout = 0.5}), gru_step);
  expect_dropout(GRU({.units = 3, .dropout = 0.5, .recurrent_dropout = 0.5, .reset_after = false}),
                 first_gru_step);
  expect_dropout(SimpleRNN({.units = 5, .dropout = 0.5, .recurrent_dropout = 0.5}), simple_step);
}

TEST(Recurrent, DropsOtherThingsInTheTwoDirectionsAndAfterAMove) {
  Sequential net(Bidirectional(SimpleRNN({.units = 8, .recurrent_dropout = 0.5})));
  net.build({2, 3}, in_f64());
  const std::vector<std::string> names{"bidirectional/forward_layer/recurrent_dropout",
                                       "bidirectional/backward_layer/recurrent_dropout"};
  std::vector<std::string> paths;
  for (const Module* layer : net.children().front()->children())
    paths.push_back(layer->children()[0]->path());
  EXPECT_EQ(paths, names);
  const Tensor x = random_tensor({1, 2, 3}, 3);
  const Context context{.training = true, .seed = 7, .sample_keys = keys_of({1})};
  EXPECT_NE(net(x, context).value().to_vector<double>(), net(x).value().to_vector<double>());
}

TEST(Recurrent, TakesAnyNumberOfStepsAndNoSamples) {
  LSTM layer({.units = 2, .return_sequences = true});
  layer.build({3, 2}, in_f64());
  const auto shape = [&](const Shape& input) { return layer(random_tensor(input)).shape(); };
  EXPECT_EQ(shape({2, 7, 2}), (Shape{2, 7, 2}));
  EXPECT_EQ(shape({0, 3, 2}), (Shape{0, 3, 2}));
}

TEST(Recurrent, NamesItselfInErrors) {
  EXPECT_EQ(message_of([] { LSTM none({.units = 0, .name = "l"}); }),
            "[l] units must be positive and below 2^31, got 0");
  EXPECT_EQ(message_of([] { GRU none({.units = 1, .dropout = 1.0}); }),
            "[dropout] rate must be in [0, 1), got 1");
  EXPECT_EQ(message_of([] { SimpleRNN none({.units = 1, .recurrent_dropout = -0.5}); }),
            "[dropout] rate must be in [0, 1), got -0.5");
  LSTM layer({.units = 2});
  EXPECT_EQ(message_of([&] { layer.build({4}); }),
            "[lstm] expects sequences (n, steps, features), got (1, 4)");
  layer.build({4, 3});
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({2, 4, 5}));
            }),
            "[lstm] expects inputs of shape (n, steps, 3), got (2, 4, 5)");
  EXPECT_EQ(message_of([&] {
              layer(Tensor::zeros({2, 0, 3}));
            }),
            "[lstm] expects inputs of shape (n, steps, 3), got (2, 0, 3)");
}

TEST(Bidirectional, IsALayerAndOneThatGoesTheOtherWay) {
  Bidirectional layer(LSTM({.units = 2, .unit_forget_bias = false, .return_sequences = true}),
                      {.merge_mode = MergeMode::mul});
  layer.build({3, 4}, in_f64());
  randomize(layer);
  const Tensor x = random_tensor({2, 3, 4}, 3);
  const Row ahead = naive(layer.forward_layer(), x, lstm_step),
            back = naive(layer.backward_layer(), x, lstm_step);
  Row expected;
  for (std::size_t i = 0; i < ahead.size(); ++i) {
    const std::size_t sample = i / 6, step = i / 2 % 3, unit = i % 2;
    expected.push_back(ahead[i] * back[sample * 6 + (2 - step) * 2 + unit]);
  }
  expect_close(layer(x).value(), expected, 1e-12, "output");
  expect_module_gradients(layer, x);
  EXPECT_EQ(find_parameter(layer, "backward_layer/bias").variable.shape(), Shape{8});
  EXPECT_EQ(layer.parameters().front().name, "forward_layer/kernel");
}

/// Sequences (n, steps, 2): numbers, and marks at two of them.
Tensor marked_numbers(std::int64_t n, std::int64_t steps, std::vector<float>& sums) {
  std::vector<float> values;
  sums.clear();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t first = i % (steps / 2), second = steps / 2 + (i / 3) % (steps / 2);
    float sum = 0.0f;
    for (std::int64_t t = 0; t < steps; ++t) {
      const auto number = static_cast<float>(std::fmod(static_cast<double>(i * steps + t) * 0.7549, 1.0));
      const bool marked = t == first || t == second;
      if (marked) sum += number;
      values.insert(values.end(), {number, marked ? 1.0f : 0.0f});
    }
    sums.push_back(sum);
  }
  return Tensor::from<float>({n, steps, 2}, values);
}

/// The mean of the squared errors after some steps of training; the variance of the sums is 1/6.
double error_after_training(Bidirectional layer, DType computed) {
  std::vector<float> sums;
  const Tensor x = marked_numbers(64, 8, sums), target = Tensor::from<float>({64, 1}, sums);
  Sequential net;
  net.add(std::move(layer));
  net.add(Dense({.units = 1}));
  net.build({8, 2}, {.seed = 1, .compute_dtype = computed});
  ParameterArena arena(net);
  Adam optimizer(AdamOptions{.learning_rate = 0.02});
  optimizer.attach(arena);
  double error = 1.0;
  for (int step = 0; step < 150; ++step) {
    arena.zero_gradients();
    const Variable loss = sum(squared_error(cast(net(x, {.training = true}), DType::f32), target));
    error = loss.value().item() / 64.0;
    loss.backward();
    optimizer.step(1.0 / 64.0);
  }
  return error;
}

// On any backend, and in bf16.
TEST(Recurrent, LearnsToAddWhatIsMarked) {
  EXPECT_LT(error_after_training(Bidirectional(LSTM({.units = 12})), DType::f32), 0.01);
  EXPECT_LT(error_after_training(Bidirectional(GRU({.units = 12})), DType::f32), 0.01);
  EXPECT_LT(error_after_training(Bidirectional(GRU({.units = 12, .reset_after = false})), DType::bf16), 0.03);
}

TEST(Recurrent, ComputesInBf16WithWeightsInF32) {
  const auto outputs = [](std::optional<DType> computed) {
    Sequential net(LSTM({.units = 4, .dropout = 0.25, .return_sequences = true}), GRU({.units = 3}));
    net.build({5, 3}, {.seed = 1, .compute_dtype = computed});
    const Variable y = net(random_tensor({2, 5, 3}, 3).to(DType::f32).to(default_backend()));
    EXPECT_EQ(y.dtype(), computed.value_or(DType::f32));
    EXPECT_EQ(net.parameters().front().variable.dtype(), DType::f32);
    return y.value().to_vector<double>();
  };
  const Row floats = outputs({}), halves = outputs(DType::bf16);
  for (std::size_t i = 0; i < floats.size(); ++i) EXPECT_NEAR(halves[i], floats[i], 0.01);
}

}  // namespace
}  // namespace ronde::test
