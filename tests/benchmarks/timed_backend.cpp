#include "timed_backend.h"

#include <initializer_list>

#include <ronde/core/text.h>

#include "backend/cpu/conv_shape.h"
#include "stopwatch.h"

namespace bench {

using namespace ronde;

void KernelTimes::add(const std::string& name, KernelWork work, double seconds) {
  const auto [place, is_new] = row_of_.emplace(name, rows_.size());
  if (is_new) rows_.push_back({.name = name});
  KernelRow& row = rows_[place->second];
  row.seconds.resize(steps_ + 1);
  row.seconds.back() += seconds;
  if (steps_ > 0) return;
  ++row.calls;
  row.flop += work.flop;
  row.bytes += work.bytes;
}

void KernelTimes::clear() {
  *this = {};
}

namespace {

using Tensors = std::initializer_list<Tensor>;

std::string text_of(Tensors tensors) {
  std::string text;
  for (const Tensor& t : tensors)
    if (t.defined())
      text += t.dtype() == DType::f32 ? cat(' ', t.shape()) : cat(' ', t.shape(), ' ', t.dtype());
  return text;
}

double bytes_of(Tensors tensors) {
  double bytes = 0;
  for (const Tensor& t : tensors)
    if (t.defined()) bytes += static_cast<double>(t.byte_size());
  return bytes;
}

// Of a convolution with results of this shape: each of them takes a filter's multiplications and additions.
double flop_of(const Shape& results, const Tensor& weight) {
  const Shape w = weight.shape();
  return 2.0 * static_cast<double>(results.count() * w[1] * w[2] * w[3]);
}

double flop_of(const Shape& x, const Conv2dStage& stage) {
  return flop_of(conv2d_shape(x, stage.weight.shape(), stage.params), stage.weight);
}

double flop_of(const Conv2dLayer& layer) {
  const Shape x = layer.x.shape();
  if (!layer.front) return flop_of(x, layer.conv);
  const Shape middle = conv2d_shape(x, layer.front->weight.shape(), layer.front->params);
  return flop_of(x, *layer.front) + flop_of(middle, layer.conv);
}

// Of the gradients that are wanted.
double flop_of(const Conv2dBackward& layer, bool wants_input) {
  const Tensor& weight = layer.weight.defined() ? layer.weight : layer.grad_weight;
  if (!weight.defined()) return 0;
  const Tensor& grad = layer.grad_out;
  const double one = flop_of({grad.size(0), layer.conv_out.h, layer.conv_out.w, grad.size(3)}, weight);
  return (wants_input ? one : 0) + (layer.grad_weight.defined() ? one : 0);
}

// The front's result is made again and its gradient is made: the former is no part of a step's arithmetic.
double flop_of(const Conv2dLayerBackward& layer) {
  if (!layer.front) return flop_of(layer.conv, layer.conv.grad_x.defined());
  const bool wants_front = layer.grad_front_weight.defined();
  return flop_of(layer.conv, wants_front) + (wants_front ? flop_of(layer.conv.x.shape(), *layer.front) : 0);
}

Tensor weight_of(const std::optional<Conv2dStage>& front) {
  return front ? front->weight : Tensor();
}

const char* name_of(UnaryOp op) {
  return op == UnaryOp::relu ? "relu" : op == UnaryOp::affine ? "affine" : "unary";
}

class TimedBackend : public Backend {
 public:
  TimedBackend(Backend& inner, KernelTimes& times) : inner_(inner), times_(times) {}

  std::string name() const override { return inner_.name(); }
  Device device() const override { return inner_.device(); }
  void* allocate(std::size_t bytes) override { return inner_.allocate(bytes); }
  void deallocate(void* memory, std::size_t bytes) noexcept override { inner_.deallocate(memory, bytes); }
  void copy_from_host(void* destination, const void* source, std::size_t bytes) override {
    inner_.copy_from_host(destination, source, bytes);
  }
  void copy_to_host(void* destination, const void* source, std::size_t bytes) override {
    inner_.copy_to_host(destination, source, bytes);
  }
  void synchronize() override { inner_.synchronize(); }
  ThreadPool& threads() override { return inner_.threads(); }
  Tensor rounded(const Tensor& x) override { return inner_.rounded(x); }
  std::shared_ptr<const void> keep_rounded(const Tensor& x) override { return inner_.keep_rounded(x); }
  bool fuses(const Conv2dLayer& layer) const override { return inner_.fuses(layer); }

  void fill(const Tensor& out, double value) override {
    time("fill", {out}, {}, [&] { inner_.fill(out, value); });
  }
  void copy(const Tensor& out, const Tensor& x) override {
    time("copy", {out}, {x}, [&] { inner_.copy(out, x); });
  }
  void unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) override {
    time(name_of(op), {out}, {x}, [&] { inner_.unary(op, out, x, params); });
  }
  void unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                      const Tensor& y, UnaryParams params) override {
    time(cat(name_of(op), "_backward"), {grad_x}, {grad_y, y.defined() ? y : x},
         [&] { inner_.unary_backward(op, grad_x, grad_y, x, y, params); });
  }
  void relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y, const Tensor& y,
                     double scale) override {
    time("relu_backward", {grad_x, grad_bias}, {grad_y, y},
         [&] { inner_.relu_backward(grad_x, grad_bias, grad_y, y, scale); });
  }
  void binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) override {
    time(op == BinaryOp::add ? "add" : "binary", {out}, {a, b}, [&] { inner_.binary(op, out, a, b); });
  }
  void accumulate(const Tensor& x, const Tensor& y, double alpha) override {
    time("accumulate", {x}, {x, y}, [&] { inner_.accumulate(x, y, alpha); });
  }
  void reduce(ReduceOp op, const Tensor& out, const Tensor& x) override {
    time("reduce", {out}, {x}, [&] { inner_.reduce(op, out, x); });
  }
  void argmax(const Tensor& out, const Tensor& x) override {
    time("argmax", {out}, {x}, [&] { inner_.argmax(out, x); });
  }
  void sum_of_squares(const Tensor& out, const Tensor& x) override {
    time("sum_of_squares", {out}, {x}, [&] { inner_.sum_of_squares(out, x); });
  }
  void count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) override {
    time("count_correct", {total}, {scores, labels}, [&] { inner_.count_correct(total, scores, labels); });
  }
  void matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) override {
    const std::int64_t depth = a.size(params.transpose_a ? -2 : -1);
    time(
        "matmul", {out}, {a, b}, [&] { inner_.matmul(out, a, b, params); },
        2.0 * static_cast<double>(out.count() * depth));
  }
  void dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
             Epilogue epilogue) override {
    time(
        "dense", {out}, {x, weight, bias}, [&] { inner_.dense(out, x, weight, bias, epilogue); },
        2.0 * static_cast<double>(out.count() * weight.size(0)));
  }
  void dense_dropout(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                     Epilogue epilogue, const Tensor& sample_keys, const DropoutParams& params) override {
    time(
        "dense_dropout", {out}, {x, weight, bias},
        [&] { inner_.dense_dropout(out, x, weight, bias, epilogue, sample_keys, params); },
        2.0 * static_cast<double>(out.count() * weight.size(0)));
  }
  void dense_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                             const Tensor& x) override {
    time(
        "dense_backward_weight", {grad_weight, grad_bias}, {grad_out, x},
        [&] { inner_.dense_backward_weight(grad_weight, grad_bias, grad_out, x); },
        2.0 * static_cast<double>(grad_weight.count() * x.size(0)));
  }
  void gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) override {
    time("gather_rows", {out}, {out, indices}, [&] { inner_.gather_rows(out, table, indices); });
  }
  void gather_scaled(const Tensor& out, const Tensor& table, const Tensor& indices, double scale,
                     double offset) override {
    time("gather_scaled", {out}, {out, indices},
         [&] { inner_.gather_scaled(out, table, indices, scale, offset); });
  }
  void change_pictures(const Tensor& out, const Tensor& table, const Tensor& indices, const Tensor& numbers,
                       const PictureParams& params) override {
    time("change_pictures", {out}, {out, numbers},
         [&] { inner_.change_pictures(out, table, indices, numbers, params); });
  }
  void scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) override {
    time("scatter_add_rows", {x}, {x, indices}, [&] { inner_.scatter_add_rows(table, x, indices); });
  }
  void conv2d(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
              const Conv2dParams& params, Epilogue epilogue) override {
    time(
        "conv2d", {out}, {x, weight, bias}, [&] { inner_.conv2d(out, x, weight, bias, params, epilogue); },
        flop_of(out.shape(), weight));
  }
  void conv2d_backward_input(const Tensor& grad_x, const Tensor& grad_out, const Tensor& weight,
                             const Conv2dParams& params) override {
    time(
        "conv2d_backward_input", {grad_x}, {grad_out, weight},
        [&] { inner_.conv2d_backward_input(grad_x, grad_out, weight, params); },
        flop_of(grad_out.shape(), weight));
  }
  void conv2d_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_out,
                              const Tensor& x, const Conv2dParams& params) override {
    time(
        "conv2d_backward_weight", {grad_weight, grad_bias}, {grad_out, x},
        [&] { inner_.conv2d_backward_weight(grad_weight, grad_bias, grad_out, x, params); },
        flop_of(grad_out.shape(), grad_weight));
  }
  void conv2d_max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x, const Tensor& weight,
                         const Tensor& bias, const Conv2dParams& params, Epilogue epilogue,
                         const Pool2dParams& pool) override {
    time(
        "conv2d_max_pool2d", {out, argmax}, {x, weight, bias},
        [&] { inner_.conv2d_max_pool2d(out, argmax, x, weight, bias, params, epilogue, pool); },
        flop_of(x.shape(), {.weight = weight, .params = params}));
  }
  void conv2d_norm(const Tensor& out, const Tensor& x, const Conv2dStage& conv,
                   const NormStage& norm) override {
    time(
        "conv2d_norm", {out}, {x, conv.weight}, [&] { inner_.conv2d_norm(out, x, conv, norm); },
        flop_of(out.shape(), conv.weight));
  }
  void conv2d_backward(const Conv2dBackward& layer) override {
    time(
        "conv2d_backward", {layer.grad_x, layer.grad_weight, layer.grad_bias},
        {layer.grad_out, layer.x, layer.weight, layer.out, layer.argmax},
        [&] { inner_.conv2d_backward(layer); }, flop_of(layer, layer.grad_x.defined()));
  }
  void conv2d_layer(const Conv2dLayer& layer) override {
    time(
        "conv2d_layer", {layer.out, layer.argmax}, {layer.x, weight_of(layer.front), layer.conv.weight},
        [&] { inner_.conv2d_layer(layer); }, flop_of(layer));
  }
  void conv2d_layer_backward(const Conv2dLayerBackward& layer) override {
    const Conv2dBackward& c = layer.conv;
    time(
        "conv2d_layer_backward", {c.grad_x, c.grad_weight, layer.grad_front_weight},
        {c.grad_out, c.x, c.weight, c.out, c.argmax}, [&] { inner_.conv2d_layer_backward(layer); },
        flop_of(layer));
  }
  void max_pool2d(const Tensor& out, const Tensor& argmax, const Tensor& x,
                  const Pool2dParams& params) override {
    time("max_pool2d", {out, argmax}, {x}, [&] { inner_.max_pool2d(out, argmax, x, params); });
  }
  void max_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out, const Tensor& argmax,
                           const Pool2dParams& params) override {
    time("max_pool2d_backward", {grad_x}, {grad_out, argmax},
         [&] { inner_.max_pool2d_backward(grad_x, grad_out, argmax, params); });
  }
  void average_pool2d(const Tensor& out, const Tensor& x, const Pool2dParams& params) override {
    time("average_pool2d", {out}, {x}, [&] { inner_.average_pool2d(out, x, params); });
  }
  void average_pool2d_backward(const Tensor& grad_x, const Tensor& grad_out,
                               const Pool2dParams& params) override {
    time("average_pool2d_backward", {grad_x}, {grad_out},
         [&] { inner_.average_pool2d_backward(grad_x, grad_out, params); });
  }
  void softmax(const Tensor& out, const Tensor& x) override {
    time("softmax", {out}, {x}, [&] { inner_.softmax(out, x); });
  }
  void softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override {
    time("softmax_backward", {grad_x}, {grad_y, y}, [&] { inner_.softmax_backward(grad_x, grad_y, y); });
  }
  void log_softmax(const Tensor& out, const Tensor& x) override {
    time("log_softmax", {out}, {x}, [&] { inner_.log_softmax(out, x); });
  }
  void log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) override {
    time("log_softmax_backward", {grad_x}, {grad_y, y},
         [&] { inner_.log_softmax_backward(grad_x, grad_y, y); });
  }
  void softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities, const Tensor& logits,
                             const Tensor& labels, double smoothing) override {
    time("softmax_cross_entropy", {losses, probabilities}, {logits, labels},
         [&] { inner_.softmax_cross_entropy(losses, probabilities, logits, labels, smoothing); });
  }
  void softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                      const Tensor& probabilities, const Tensor& labels,
                                      double smoothing) override {
    time("softmax_cross_entropy_backward", {grad_logits}, {grad_losses, probabilities, labels}, [&] {
      inner_.softmax_cross_entropy_backward(grad_logits, grad_losses, probabilities, labels, smoothing);
    });
  }
  void dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
               const DropoutParams& params) override {
    time("dropout", {out}, {x}, [&] { inner_.dropout(out, x, sample_keys, params); });
  }
  void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) override {
    time("batch_statistics", {mean, variance}, {x}, [&] { inner_.batch_statistics(mean, variance, x); });
  }
  void batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& gamma, const Tensor& beta, BatchNormParams params) override {
    time("batch_norm", {out}, {x}, [&] { inner_.batch_norm(out, x, mean, variance, gamma, beta, params); });
  }
  void batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, BatchNormParams params) override {
    time("batch_norm_backward", {grad_x}, {grad_out, x}, [&] {
      inner_.batch_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma, params);
    });
  }
  void batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                             const Tensor& gamma, const Tensor& beta, BatchNormParams params,
                             UnaryStage activation) override {
    time("batch_norm_activation", {out}, {x},
         [&] { inner_.batch_norm_activation(out, x, mean, variance, gamma, beta, params, activation); });
  }
  void batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                      const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                      const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                      BatchNormParams params, UnaryStage activation) override {
    time("batch_norm_activation_backward", {grad_x}, {grad_out, x}, [&] {
      inner_.batch_norm_activation_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma,
                                            beta, params, activation);
    });
  }
  void batch_norm_add(const Tensor& out, const Tensor& x, const NormStage& norm,
                      const Tensor& addend) override {
    time("batch_norm_add", {out}, {x, addend}, [&] { inner_.batch_norm_add(out, x, norm, addend); });
  }
  void batch_norm_add_relu_backward(const NormGradients& grads, const Tensor& grad_addend,
                                    const Tensor& grad_out, const Tensor& out, const Tensor& x,
                                    const NormStage& norm) override {
    time("batch_norm_add_relu_backward", {grads.x, grad_addend}, {grad_out, out, x},
         [&] { inner_.batch_norm_add_relu_backward(grads, grad_addend, grad_out, out, x, norm); });
  }
  void layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                  const Tensor& gamma, const Tensor& beta, double epsilon) override {
    time("layer_norm", {out}, {x}, [&] { inner_.layer_norm(out, mean, variance, x, gamma, beta, epsilon); });
  }
  void layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                           const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                           const Tensor& variance, const Tensor& gamma, double epsilon) override {
    time("layer_norm_backward", {grad_x}, {grad_out, x}, [&] {
      inner_.layer_norm_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance, gamma, epsilon);
    });
  }
  void lstm(const Tensor& states, const Tensor& memories, const Tensor& gates, const Tensor& x,
            const Tensor& recurrent_kernel, const Tensor& mask, RecurrentParams params) override {
    time(
        "lstm", {states, memories, gates}, {x, recurrent_kernel, mask},
        [&] { inner_.lstm(states, memories, gates, x, recurrent_kernel, mask, params); },
        2.0 * static_cast<double>(gates.count() * states.size(2)));
  }
  void lstm_backward(const Tensor& grad_x, const Tensor& grad_states, const Tensor& memories,
                     const Tensor& gates, const Tensor& recurrent_kernel, const Tensor& mask,
                     RecurrentParams params) override {
    time(
        "lstm_backward", {grad_x}, {grad_states, memories, gates, recurrent_kernel, mask},
        [&] { inner_.lstm_backward(grad_x, grad_states, memories, gates, recurrent_kernel, mask, params); },
        2.0 * static_cast<double>(gates.count() * memories.size(2)));
  }
  void gru(const Tensor& states, const Tensor& gates, const Tensor& x, const Tensor& recurrent_kernel,
           const Tensor& recurrent_bias, const Tensor& mask, RecurrentParams params) override {
    time(
        "gru", {states, gates}, {x, recurrent_kernel, recurrent_bias, mask},
        [&] { inner_.gru(states, gates, x, recurrent_kernel, recurrent_bias, mask, params); },
        2.0 * static_cast<double>(x.count() * states.size(2)));
  }
  void gru_backward(const Tensor& grad_x, const Tensor& grad_products, const Tensor& grad_states,
                    const Tensor& states, const Tensor& gates, const Tensor& recurrent_kernel,
                    const Tensor& mask, RecurrentParams params) override {
    time(
        "gru_backward", {grad_x, grad_products}, {grad_states, states, gates, recurrent_kernel, mask},
        [&] {
          inner_.gru_backward(grad_x, grad_products, grad_states, states, gates, recurrent_kernel, mask,
                              params);
        },
        2.0 * static_cast<double>(grad_products.count() * states.size(2)));
  }
  void sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                SgdParams params) override {
    time("sgd_step", {w, velocity}, {g, w, velocity}, [&] { inner_.sgd_step(w, g, velocity, step, params); });
  }
  void rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity, const Tensor& momentum,
                    const Tensor& mean_gradient, StepParams step, RmspropParams params) override {
    time("rmsprop_step", {w, velocity}, {g, w, velocity},
         [&] { inner_.rmsprop_step(w, g, velocity, momentum, mean_gradient, step, params); });
  }
  void adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                 const Tensor& max_velocity, StepParams step, AdamParams params) override {
    time("adam_step", {w, m, v}, {g, w, m, v},
         [&] { inner_.adam_step(w, g, m, v, max_velocity, step, params); });
  }
  void adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                     const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) override {
    time("adadelta_step", {w, accumulated_gradient, accumulated_delta},
         {g, w, accumulated_gradient, accumulated_delta},
         [&] { inner_.adadelta_step(w, g, accumulated_gradient, accumulated_delta, step, params); });
  }
  void adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                    AdagradParams params) override {
    time("adagrad_step", {w, accumulator}, {g, w, accumulator},
         [&] { inner_.adagrad_step(w, g, accumulator, step, params); });
  }

 private:
  // A kernel that another one calls belongs to that one.
  template <class F>
  void time(std::string_view kernel, Tensors outputs, Tensors inputs, const F& run, double flop = 0) {
    ++depth_;
    const Stopwatch watch;
    run();
    const double seconds = watch.seconds();
    if (--depth_ > 0) return;
    const std::string from = inputs.size() > 0 ? cat(" <-", text_of(inputs)) : std::string();
    times_.add(cat(kernel, text_of(outputs), from), {flop, bytes_of(outputs) + bytes_of(inputs)}, seconds);
  }

  Backend& inner_;
  KernelTimes& times_;
  int depth_ = 0;
};

}  // namespace

std::unique_ptr<Backend> make_timed_backend(Backend& inner, KernelTimes& times) {
  return std::make_unique<TimedBackend>(inner, times);
}

}  // namespace bench
