#include "cuda/cuda_backend.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include <ronde/core/whole_numbers.h>

#include "backend/bf16/in_float.h"
#include "cuda/library_of.h"
#include "cuda/numbers_on_device.h"
#include "cuda/operand_of.h"
#include "cuda/plan_key.h"
#include "cuda/status.h"
#include "cuda/takes_bfloat16.h"
#include "cuda/wait.h"

namespace ronde::inline v0::cuda {

namespace {

constexpr std::int64_t kSquaresOfPiece = 1 << 12, kMostPieces = 1024;

Stream make_stream(Runtime& runtime) {
  Stream stream = nullptr;
  check(runtime.create_stream(&stream), "a stream");
  return stream;
}

// For the sums of a normalisation.
Tensor scratch_of_sums(const Tensor& x) {
  const std::int64_t channels = x.size(-1), rows = channels == 0 ? 0 : x.count() / channels;
  return Tensor::empty({pieces_of_rows(rows), 2, channels}, {.dtype = DType::f64, .backend = &x.backend()});
}

}  // namespace

Tensor CudaBackend::scratch_of_bias(const Tensor& grad_bias, const Tensor& grad) {
  if (!grad_bias.defined()) return {};
  const std::int64_t channels = grad_bias.count(), rows = channels == 0 ? 0 : grad.count() / channels;
  return Tensor::empty({pieces_of_rows(rows), channels}, {.dtype = DType::f64, .backend = &grad.backend()});
}

CudaBackend::CudaBackend(Runtime& runtime, CudaBackendOptions options)
    : runtime_(runtime),
      options_(options),
      stream_(make_stream(runtime)),
      allocator_(runtime, stream_),
      staging_(runtime),
      side_streams_(runtime, allocator_, stream_),
      rounded_copies_([this](const Tensor& weights) { return make_rounded(weights); },
                      [this](const Tensor& rounded, const Tensor& weights) { round(rounded, weights); }),
      threads_(1) {}

CudaBackend::~CudaBackend() {
  for (const auto& [key, planned] : plans_)
    if (planned.plan) runtime_.forget(planned.plan);
}

std::size_t CudaBackend::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

const CudaBackend::Repetition* CudaBackend::repetition() const {
  const InThread* own = InThread::find(this, InThread::Kind::repetition);
  return own ? static_cast<const Repetition*>(own->value()) : nullptr;
}

void CudaBackend::join_streams() {
  if (const Repetition* own = repetition()) own->side.join();
}

void* CudaBackend::allocate(std::size_t bytes) {
  const Turn turn(turns_);
  return allocator_.allocate(bytes);
}

// Where calls are left out, nothing has been computed that could be read. In a capture nothing runs, and a
// graph would repeat a copy from the host with what lies in the slot of `Staging` by then.
void CudaBackend::require_device() const {
  require(!leaves_out(), "[cuda] the host's part of a repeated step reads from the device or writes to it");
  require(!is_capturing(), "[cuda] the host waited for the device, or copied to it, inside a capture");
}

void CudaBackend::copy_from_host(void* destination, const void* source, std::size_t bytes) {
  require_device();
  if (bytes == 0) return;
  const Turn turn(turns_);
  join_streams();
  staging_.upload(destination, source, bytes, stream_);
  rounded_copies_.written(destination, bytes);
}

void CudaBackend::copy_to_host(void* destination, const void* source, std::size_t bytes) {
  require_device();
  const Turn turn(turns_);
  join_streams();
  if (bytes > 0) staging_.download(destination, source, bytes, stream_);
  check(runtime_.complaint(), "a kernel");
}

void CudaBackend::synchronize() {
  require_device();
  const Turn turn(turns_);
  join_streams();
  check(wait_for(runtime_, stream_), "running");
  check(runtime_.complaint(), "a kernel");
}

void CudaBackend::use_engines(Engines engines) {
  const std::lock_guard lock(mutex_);
  options_.math.engines = engines;
}

Engines CudaBackend::engines() const {
  const std::lock_guard lock(mutex_);
  return options_.math.engines;
}

CudaBackend::Planned CudaBackend::plan_for(const Call& call) {
  if (!needs_plan(call.op)) return {};
  const std::lock_guard lock(mutex_);
  const std::string key = plan_key(call, options_.math);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  Planned made;
  const Status status = runtime_.prepare(call, options_.math, &made.plan, &made.workspace);
  const bool is_choice = status.outcome == Outcome::better_in_float;
  if (has_bfloat16(call) && (is_choice || status.outcome == Outcome::unsupported)) {
    made.refusal = status.text;
    made.cause = is_choice ? Detours::Cause::choice : Detours::Cause::library;
  } else {
    check(status, "planning a kernel");
  }
  if (status.ok() && *status.text) detours_.add(call, Detours::Cause::slow_kernel, status.text);
  return plans_.emplace(key, made).first->second;
}

const StepNumbers* CudaBackend::numbers_for(const Attributes& attributes) {
  const Repetition* own = repetition();
  if (!own) return nullptr;
  const StepNumbers* numbers = own->numbers.next(attributes.step);
  if (own->calls == Repetition::Calls::launched) own->numbers.send();
  return numbers;
}

void CudaBackend::enqueue(Op op, int outputs, Tensors tensors, const Attributes& attributes) {
  assert(tensors.size() <= Call::kMaxOperands);
  const InThread* gate = InThread::find(this, InThread::Kind::gate);
  const StepNumbers* numbers = is_optimizer_step(op) ? numbers_for(attributes) : nullptr;
  if (leaves_out()) return;
  Call call{.op = op,
            .outputs = outputs,
            .operands = static_cast<int>(tensors.size()),
            .attributes = attributes,
            .numbers = numbers,
            .gate = gate && has_gate(op) ? static_cast<const double*>(gate->value()) : nullptr};
  auto* to = call.tensors.data();
  for (const Tensor* tensor : tensors) *to++ = operand_of(*tensor);
  if (is_optimizer_step(op)) call.rounded = rounded_copies_.beside(call[0]);
  if (const char* why = why_not_bfloat16(call))
    return enqueue_in_float(call, tensors, Detours::Cause::design, why);
  const Planned planned = launch(call, tensors);
  if (planned.refusal) enqueue_in_float(call, tensors, planned.cause, *planned.refusal);
}

CudaBackend::Planned CudaBackend::launch(const Call& call, Tensors tensors) {
  const Turn turn(turns_);
  const Planned planned = plan_for(call);
  if (planned.refusal) return planned;
  const Repetition* own = repetition();
  if (own && SideStream::takes(call)) {
    own->side.launch(call, planned.plan, planned.workspace, tensors);
  } else {
    if (own) own->side.let_pass(call);
    const Workspace workspace(allocator_, planned.workspace);
    check(runtime_.launch(call, planned.plan, workspace.memory(), stream_), "a kernel");
  }
  note_outputs(call);
  return planned;
}

// Of a step that has written their copy too, the weights are no news.
void CudaBackend::note_outputs(const Call& call) {
  for (int i = call.rounded.defined ? 1 : 0; i < call.outputs; ++i) {
    const Operand& out = call[i];
    if (out.data)
      rounded_copies_.written(out.data, static_cast<std::size_t>(out.reach()) * size_of(out.dtype));
  }
}

std::shared_ptr<const void> CudaBackend::keep_rounded(const Tensor& weights) {
  return rounded_copies_.keep(weights);
}

Tensor CudaBackend::rounded(const Tensor& x) {
  // Where calls are left out, so would be the one that makes a copy true.
  const Turn turn(turns_);
  const Tensor kept = leaves_out() ? Tensor() : rounded_copies_.of(x);
  return kept.defined() ? kept : x.to(DType::bf16);
}

// It stays when the step that wanted it first is gone, and so must its memory.
Tensor CudaBackend::make_rounded(const Tensor& weights) {
  const ActivePool common(allocator_, nullptr);
  return Tensor::empty(weights.shape(), {.dtype = DType::bf16, .backend = this});
}

void CudaBackend::round(const Tensor& rounded, const Tensor& weights) {
  const Call call{
      .op = Op::copy, .outputs = 1, .operands = 2, .tensors = {operand_of(rounded), operand_of(weights)}};
  if (const Repetition* own = repetition()) own->side.let_pass(call);
  check(runtime_.launch(call, nullptr, nullptr, stream_), "rounding weights");
}

void CudaBackend::enqueue_in_float(const Call& call, Tensors tensors, Detours::Cause cause,
                                   const std::string& why) {
  require(!is_optimizer_step(call.op), "[cuda] the step of an optimizer takes no bf16");
  detours_.add(call, cause, why);
  using Access = KernelArgument::Access;
  const Access of_outputs =
      call.op == Op::accumulate || call.op == Op::scatter_add_rows ? Access::updated : Access::written;
  std::vector<KernelArgument> arguments;
  std::vector<Tensor> wide;
  std::vector<const Tensor*> addresses;
  wide.reserve(tensors.size());
  for (const Tensor* tensor : tensors) {
    const bool is_output = static_cast<int>(arguments.size()) < call.outputs;
    arguments.push_back({*tensor, is_output ? of_outputs : Access::read});
    addresses.push_back(&wide.emplace_back(arguments.back().widened()));
  }
  Attributes attributes = call.attributes;
  if (needs_plan(call.op) && multiplies_bfloat16(call)) attributes.products = Products::rounded;
  enqueue(call.op, call.outputs, Tensors(addresses), attributes);
  for (std::size_t i = 0; i < wide.size(); ++i) arguments[i].round(wide[i]);
}

void CudaBackend::fill(const Tensor& out, double value) {
  enqueue(Op::fill, 1, {&out}, {.value = value});
}

void CudaBackend::copy(const Tensor& out, const Tensor& x) {
  enqueue(Op::copy, 1, {&out, &x});
}

void CudaBackend::unary(UnaryOp op, const Tensor& out, const Tensor& x, UnaryParams params) {
  enqueue(Op::unary, 1, {&out, &x}, {.unary = op, .unary_params = params});
}

void CudaBackend::unary_backward(UnaryOp op, const Tensor& grad_x, const Tensor& grad_y, const Tensor& x,
                                 const Tensor& y, UnaryParams params) {
  enqueue(Op::unary_backward, 1, {&grad_x, &grad_y, &x, &y}, {.unary = op, .unary_params = params});
}

void CudaBackend::relu_backward(const Tensor& grad_x, const Tensor& grad_bias, const Tensor& grad_y,
                                const Tensor& y, double scale) {
  const Tensor sums = scratch_of_bias(grad_bias, y);
  enqueue(Op::relu_backward, 3, {&grad_x, &grad_bias, &sums, &grad_y, &y}, {.value = scale});
}

void CudaBackend::binary(BinaryOp op, const Tensor& out, const Tensor& a, const Tensor& b) {
  enqueue(Op::binary, 1, {&out, &a, &b}, {.binary = op});
}

void CudaBackend::accumulate(const Tensor& x, const Tensor& y, double alpha) {
  enqueue(Op::accumulate, 1, {&x, &y}, {.value = alpha});
}

void CudaBackend::reduce(ReduceOp op, const Tensor& out, const Tensor& x) {
  enqueue(Op::reduce, 1, {&out, &x}, {.reduce = op});
}

void CudaBackend::argmax(const Tensor& out, const Tensor& x) {
  enqueue(Op::argmax, 1, {&out, &x});
}

// Of many elements by pieces, one for each block of threads, and then the sum of these: in an order that
// never varies.
void CudaBackend::sum_of_squares(const Tensor& out, const Tensor& x) {
  if (x.count() <= kSquaresOfPiece) return enqueue(Op::sum_of_squares, 1, {&out, &x});
  const std::int64_t pieces = std::min(kMostPieces, ceil_divide(x.count(), kSquaresOfPiece));
  const Tensor sums = Tensor::empty({pieces}, out.options());
  enqueue(Op::square_sums, 1, {&sums, &x});
  const Tensor total = out.view(0, {1});
  enqueue(Op::reduce, 1, {&total, &sums}, {.reduce = ReduceOp::sum});
}

void CudaBackend::count_correct(const Tensor& total, const Tensor& scores, const Tensor& labels) {
  enqueue(Op::count_correct, 1, {&total, &scores, &labels});
}

void CudaBackend::matmul(const Tensor& out, const Tensor& a, const Tensor& b, MatmulParams params) {
  enqueue(Op::matmul, 1, {&out, &a, &b}, {.matmul = params});
}

void CudaBackend::dense(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        Epilogue epilogue) {
  enqueue(Op::dense, 1, {&out, &x, &weight, &bias}, {.epilogue = epilogue});
}

void CudaBackend::dense_dropout(const Tensor& out, const Tensor& x, const Tensor& weight, const Tensor& bias,
                                Epilogue epilogue, const Tensor& sample_keys, const DropoutParams& params) {
  enqueue(Op::dense, 1, {&out, &x, &weight, &bias, &sample_keys}, {.epilogue = epilogue, .dropout = params});
}

void CudaBackend::dense_backward_weight(const Tensor& grad_weight, const Tensor& grad_bias,
                                        const Tensor& grad_out, const Tensor& x) {
  enqueue(Op::dense_backward_weight, 2, {&grad_weight, &grad_bias, &grad_out, &x});
}

void CudaBackend::gather_rows(const Tensor& out, const Tensor& table, const Tensor& indices) {
  enqueue(Op::gather_rows, 1, {&out, &table, &indices});
}

void CudaBackend::gather_scaled(const Tensor& out, const Tensor& table, const Tensor& indices, double scale,
                                double offset) {
  enqueue(Op::gather_scaled, 1, {&out, &table, &indices}, {.value = scale, .offset = offset});
}

void CudaBackend::change_pictures(const Tensor& out, const Tensor& table, const Tensor& indices,
                                  const Tensor& numbers, const PictureParams& params) {
  enqueue(Op::change_pictures, 1, {&out, &table, &indices, &numbers}, {.pictures = params});
}

void CudaBackend::scatter_add_rows(const Tensor& table, const Tensor& x, const Tensor& indices) {
  enqueue(Op::scatter_add_rows, 1, {&table, &x, &indices});
}

void CudaBackend::softmax(const Tensor& out, const Tensor& x) {
  enqueue(Op::softmax, 1, {&out, &x});
}

void CudaBackend::softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  enqueue(Op::softmax_backward, 1, {&grad_x, &grad_y, &y});
}

void CudaBackend::log_softmax(const Tensor& out, const Tensor& x) {
  enqueue(Op::log_softmax, 1, {&out, &x});
}

void CudaBackend::log_softmax_backward(const Tensor& grad_x, const Tensor& grad_y, const Tensor& y) {
  enqueue(Op::log_softmax_backward, 1, {&grad_x, &grad_y, &y});
}

void CudaBackend::softmax_cross_entropy(const Tensor& losses, const Tensor& probabilities,
                                        const Tensor& logits, const Tensor& labels, double smoothing) {
  enqueue(Op::softmax_cross_entropy, 2, {&losses, &probabilities, &logits, &labels}, {.value = smoothing});
}

void CudaBackend::softmax_cross_entropy_backward(const Tensor& grad_logits, const Tensor& grad_losses,
                                                 const Tensor& probabilities, const Tensor& labels,
                                                 double smoothing) {
  enqueue(Op::softmax_cross_entropy_backward, 1, {&grad_logits, &grad_losses, &probabilities, &labels},
          {.value = smoothing});
}

void CudaBackend::dropout(const Tensor& out, const Tensor& x, const Tensor& sample_keys,
                          const DropoutParams& params) {
  enqueue(Op::dropout, 1, {&out, &x, &sample_keys}, {.dropout = params});
}

void CudaBackend::batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& x) {
  const Tensor sums = scratch_of_sums(x);
  enqueue(Op::batch_statistics, 3, {&mean, &variance, &sums, &x});
}

void CudaBackend::batch_norm(const Tensor& out, const Tensor& x, const Tensor& mean, const Tensor& variance,
                             const Tensor& gamma, const Tensor& beta, BatchNormParams params) {
  enqueue(Op::batch_norm, 1, {&out, &x, &mean, &variance, &gamma, &beta}, {.batch_norm = params});
}

void CudaBackend::batch_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                      const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                      const Tensor& variance, const Tensor& gamma, BatchNormParams params) {
  const Tensor sums = scratch_of_sums(x), no_beta;
  enqueue(Op::batch_norm_backward, 4,
          {&grad_x, &grad_gamma, &grad_beta, &sums, &grad_out, &x, &mean, &variance, &gamma, &no_beta},
          {.batch_norm = params});
}

void CudaBackend::batch_norm_activation(const Tensor& out, const Tensor& x, const Tensor& mean,
                                        const Tensor& variance, const Tensor& gamma, const Tensor& beta,
                                        BatchNormParams params, UnaryStage activation) {
  if (!activation.is_relu())
    return Backend::batch_norm_activation(out, x, mean, variance, gamma, beta, params, activation);
  enqueue(Op::batch_norm, 1, {&out, &x, &mean, &variance, &gamma, &beta},
          {.value = activation.highest(), .epilogue = Epilogue::relu, .batch_norm = params});
}

void CudaBackend::batch_norm_activation_backward(const Tensor& grad_x, const Tensor& grad_gamma,
                                                 const Tensor& grad_beta, const Tensor& grad_out,
                                                 const Tensor& x, const Tensor& mean, const Tensor& variance,
                                                 const Tensor& gamma, const Tensor& beta,
                                                 BatchNormParams params, UnaryStage activation) {
  if (!activation.is_relu())
    return Backend::batch_norm_activation_backward(grad_x, grad_gamma, grad_beta, grad_out, x, mean, variance,
                                                   gamma, beta, params, activation);
  const Tensor sums = scratch_of_sums(x);
  enqueue(Op::batch_norm_backward, 4,
          {&grad_x, &grad_gamma, &grad_beta, &sums, &grad_out, &x, &mean, &variance, &gamma, &beta},
          {.value = activation.highest(), .epilogue = Epilogue::relu, .batch_norm = params});
}

void CudaBackend::layer_norm(const Tensor& out, const Tensor& mean, const Tensor& variance, const Tensor& x,
                             const Tensor& gamma, const Tensor& beta, double epsilon) {
  enqueue(Op::layer_norm, 3, {&out, &mean, &variance, &x, &gamma, &beta}, {.value = epsilon});
}

void CudaBackend::layer_norm_backward(const Tensor& grad_x, const Tensor& grad_gamma, const Tensor& grad_beta,
                                      const Tensor& grad_out, const Tensor& x, const Tensor& mean,
                                      const Tensor& variance, const Tensor& gamma, double epsilon) {
  const bool has_sums = grad_gamma.defined() || grad_beta.defined();
  const Tensor sums = has_sums ? scratch_of_sums(x) : Tensor();
  enqueue(Op::layer_norm_backward, 4,
          {&grad_x, &grad_gamma, &grad_beta, &sums, &grad_out, &x, &mean, &variance, &gamma},
          {.value = epsilon});
}

void CudaBackend::sgd_step(const Tensor& w, const Tensor& g, const Tensor& velocity, StepParams step,
                           SgdParams params) {
  enqueue(Op::sgd_step, 2, {&w, &velocity, &g}, {.step = {.step = step, .sgd = params}});
}

void CudaBackend::rmsprop_step(const Tensor& w, const Tensor& g, const Tensor& velocity,
                               const Tensor& momentum, const Tensor& mean_gradient, StepParams step,
                               RmspropParams params) {
  enqueue(Op::rmsprop_step, 4, {&w, &velocity, &momentum, &mean_gradient, &g},
          {.step = {.step = step, .rmsprop = params}});
}

void CudaBackend::adam_step(const Tensor& w, const Tensor& g, const Tensor& m, const Tensor& v,
                            const Tensor& max_velocity, StepParams step, AdamParams params) {
  enqueue(Op::adam_step, 4, {&w, &m, &v, &max_velocity, &g}, {.step = {.step = step, .adam = params}});
}

void CudaBackend::adadelta_step(const Tensor& w, const Tensor& g, const Tensor& accumulated_gradient,
                                const Tensor& accumulated_delta, StepParams step, AdadeltaParams params) {
  enqueue(Op::adadelta_step, 3, {&w, &accumulated_gradient, &accumulated_delta, &g},
          {.step = {.step = step, .adadelta = params}});
}

void CudaBackend::adagrad_step(const Tensor& w, const Tensor& g, const Tensor& accumulator, StepParams step,
                               AdagradParams params) {
  enqueue(Op::adagrad_step, 2, {&w, &accumulator, &g}, {.step = {.step = step, .adagrad = params}});
}

}  // namespace ronde::inline v0::cuda
