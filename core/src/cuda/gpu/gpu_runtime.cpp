#include "cuda/gpu/gpu_runtime.h"

#include <atomic>
#include <string>
#include <string_view>

#include "cuda/gpu/answer.h"
#include "cuda/gpu/architectures.h"
#include "cuda/gpu/captured_graph.h"
#include "cuda/gpu/complaint_text.h"
#include "cuda/gpu/cuda_check.h"
#include "cuda/gpu/cudnn_descriptor.h"
#include "cuda/gpu/product_plan.h"
#include "cuda/gpu/small_copy.h"
#include "cuda/library_of.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::inline v0::cuda {

namespace {

Outcome outcome_of(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return Outcome::ok;
    case cudaErrorNotReady:
      return Outcome::not_ready;
    case cudaErrorMemoryAllocation:
      return Outcome::out_of_memory;
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureUnjoined:
    case cudaErrorStreamCaptureIsolation:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureMerge:
    case cudaErrorStreamCaptureUnmatched:
    case cudaErrorStreamCaptureWrongThread:
    case cudaErrorCapturedEvent:
      return Outcome::refused;
    default:
      return Outcome::failed;
  }
}

// Found out here, not at the first kernel of a training.
void require_kernels() {
  const cudaError_t error = find_kernel();
  if (error == cudaSuccess) return;
  cudaGetLastError();  // it is told
  throw GpuError("Ronde's kernels, built for compute capability " + architectures() +
                 ", do not run on it: " + cudaGetErrorString(error));
}

Status no_kernel() {
  return answer(Outcome::refused, "no kernel takes these bf16 operands");
}

}  // namespace

DeviceFacts facts_of(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "describing a GPU");
  DeviceFacts facts;
  std::string_view(properties.name).copy(facts.name, sizeof facts.name - 1);
  facts.major = properties.major;
  facts.minor = properties.minor;
  facts.multiprocessors = properties.multiProcessorCount;
  facts.memory = properties.totalGlobalMem;
  check_cuda(cudaDeviceGetPCIBusId(facts.id, sizeof facts.id, device), "describing a GPU");
  return facts;
}

GpuRuntime::GpuRuntime(int device) : device_(device), facts_(facts_of(device)) {
  use();
  require_kernels();
  check_cudnn(cudnnCreate(&cudnn_.handle), "starting");
  if (cublasLtCreate(&cublas_) != CUBLAS_STATUS_SUCCESS) throw GpuError("cuBLASLt does not start");
  check_cuda(cudaStreamCreateWithFlags(&tuning_, cudaStreamNonBlocking), "a stream");
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, sizeof(Complaint), cudaHostAllocMapped), "pinned memory");
  complaint_ = new (memory) Complaint;
  check_cuda(cudaHostGetDevicePointer(&memory, complaint_, 0), "mapped memory");
  complaint_on_device_ = static_cast<Complaint*>(memory);
  collectives_ = make_collectives(device);
}

GpuRuntime::~GpuRuntime() {
  use();
  if (complaint_) cudaFreeHost(complaint_);
  if (tuning_) cudaStreamDestroy(tuning_);
  if (cublas_) cublasLtDestroy(cublas_);
  if (cudnn_.handle) cudnnDestroy(cudnn_.handle);
}

void GpuRuntime::give_up(const char* why) {
  const std::lock_guard lock(giving_up_);
  if (is_lost()) return;
  why_lost_ = why;
  is_lost_.store(true, std::memory_order_release);
}

Status GpuRuntime::lost() const {
  const std::lock_guard lock(giving_up_);
  return answer(Outcome::failed, why_lost_);
}

Status GpuRuntime::result(cudaError_t error) const {
  if (is_lost()) return lost();
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // it is told; the next call begins without it
  return answer(outcome_of(error), cudaGetErrorString(error));
}

Status GpuRuntime::allocate(std::size_t bytes, void** memory) {
  use();
  return result(cudaMalloc(memory, bytes));
}

Status GpuRuntime::release(void* memory) {
  use();
  return result(cudaFree(memory));
}

Status GpuRuntime::allocate_pinned(std::size_t bytes, void** memory) {
  use();
  return result(cudaHostAlloc(memory, bytes, cudaHostAllocDefault));
}

Status GpuRuntime::release_pinned(void* memory) {
  use();
  return result(cudaFreeHost(memory));
}

Status GpuRuntime::create_stream(Stream* stream) {
  use();
  return result(cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking));
}

Status GpuRuntime::destroy_stream(Stream stream) {
  use();
  return result(cudaStreamDestroy(native(stream)));
}

Status GpuRuntime::create_event(Event* event) {
  use();
  return result(cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event), cudaEventDisableTiming));
}

Status GpuRuntime::destroy_event(Event event) {
  use();
  return result(cudaEventDestroy(native(event)));
}

Status GpuRuntime::record(Event event, Stream stream) {
  use();
  return result(cudaEventRecord(native(event), native(stream)));
}

Status GpuRuntime::wait(Stream stream, Event event) {
  use();
  return result(cudaStreamWaitEvent(native(stream), native(event), 0));
}

Status GpuRuntime::query(Event event) {
  use();
  return result(cudaEventQuery(native(event)));
}

Status GpuRuntime::complaint() {
  const std::atomic_ref<std::int32_t> is_set(complaint_->is_set);
  if (is_set.load() != 1) return {};
  const std::string text = text_of(*complaint_);
  is_set.store(0);
  return answer(Outcome::complaint, text);
}

Status GpuRuntime::copy(void* to, const void* from, std::size_t bytes, CopyKind kind, Stream stream) {
  use();
  if (kind != CopyKind::on_device && bytes <= kMostBytesByKernel)
    return enqueued([&] { copy_by_kernel(to, from, bytes, native(stream)); });
  const cudaMemcpyKind direction = kind == CopyKind::to_device ? cudaMemcpyHostToDevice
                                   : kind == CopyKind::to_host ? cudaMemcpyDeviceToHost
                                                               : cudaMemcpyDeviceToDevice;
  return result(cudaMemcpyAsync(to, from, bytes, direction, native(stream)));
}

Status GpuRuntime::prepare(const Call& call, const MathOptions& math, Plan* plan, std::size_t* workspace) {
  if (!takes_bfloat16(call)) return no_kernel();
  const std::lock_guard lock(planning_);
  use();
  try {
    // What the operands hold by now may still be on its way.
    check_cuda(cudaDeviceSynchronize(), "before planning");
    const Place place{reinterpret_cast<Stream>(tuning_), complaint_on_device_};
    *plan = library_of(call.op) == Library::cublas ? make_product_plan(call, math, cublas_, place).release()
                                                   : make_conv_plan(call, math, cudnn_, place).release();
    check_cuda(cudaStreamSynchronize(tuning_), "planning");
    *workspace = (*plan)->workspace();
    return {Outcome::ok, (*plan)->remark()};
  } catch (const GpuError& error) {
    cudaGetLastError();
    return answer(error.outcome, error.what());
  }
}

Status GpuRuntime::forget(Plan plan) {
  use();
  delete plan;
  return {};
}

Status GpuRuntime::launch(const Call& call, Plan plan, void* workspace, Stream stream) {
  if (!takes_bfloat16(call)) return no_kernel();
  use();
  const Place place{stream, complaint_on_device_};
  return enqueued([&] {
    if (plan)
      plan->run(call, workspace, place);
    else
      run_kernel(call, place);
  });
}

template <class Enqueue>
Status GpuRuntime::enqueued(const Enqueue& enqueue) const {
  if (is_lost()) return lost();
  try {
    enqueue();
  } catch (const GpuError& error) {
    cudaGetLastError();  // it is told; the next call begins without it
    return answer(Outcome::failed, error.what());
  }
  return result(cudaGetLastError());
}

Status GpuRuntime::begin_capture(Stream stream) {
  use();
  return result(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal));
}

Status GpuRuntime::end_capture(Stream stream, Graph* graph) {
  use();
  return result(cuda::end_capture(native(stream), reinterpret_cast<cudaGraphExec_t*>(graph)));
}

Status GpuRuntime::replay(Graph graph, Stream stream) {
  use();
  return result(cudaGraphLaunch(native(graph), native(stream)));
}

Status GpuRuntime::destroy_graph(Graph graph) {
  use();
  return result(cudaGraphExecDestroy(native(graph)));
}

}  // namespace ronde::inline v0::cuda
