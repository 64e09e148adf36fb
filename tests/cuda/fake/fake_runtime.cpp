#include "cuda/fake/fake_runtime.h"

#include <cstdlib>
#include <cstring>

#include "cuda/emulated/run_kernel.h"
#include "cuda/fake/libraries.h"
#include "cuda/library_of.h"
#include "cuda/plan_key.h"
#include "cuda/takes_bfloat16.h"

namespace ronde::test {

using cuda::CopyKind;
using cuda::Outcome;
using cuda::Status;

namespace {

constexpr std::size_t kWorkspace = 4096;  // of every plan: scribbled over, as a library would
constexpr int kDelay = 40;                // questions of the host

// A stream's handle is its number and one more.
cuda::Stream handle(std::size_t stream) {
  return reinterpret_cast<cuda::Stream>(stream + 1);
}
std::size_t number(cuda::Stream stream) {
  return reinterpret_cast<std::size_t>(stream) - 1;
}

std::size_t rounded_bytes(const cuda::Call& call) {
  return static_cast<std::size_t>(call.rounded.reach()) * size_of(DType::bf16);
}

Status answer(Outcome outcome, const std::string& text) {
  thread_local std::string last;
  last = text;
  return {outcome, last.c_str()};
}

}  // namespace

FakeRuntime::FakeRuntime(FakeOptions options)
    : options_(options), memory_(options.memory), scheduler_(options.seed) {
  std::strncpy(facts_.name, "Fake GPU", sizeof facts_.name - 1);
  facts_.major = 9;
  facts_.multiprocessors = 1;
  facts_.memory = options.memory;
  options.id.copy(facts_.id, sizeof facts_.id - 1);
}

FakeRuntime::~FakeRuntime() {
  for (const auto& [memory, bytes] : pinned_) std::free(const_cast<char*>(memory));
}

void FakeRuntime::lose(const std::string& why) {
  const std::lock_guard lock(mutex_);
  scheduler_.lose(why);
}

void FakeRuntime::nudge() {
  const std::lock_guard lock(mutex_);
  scheduler_.nudge();
}

Status FakeRuntime::refuse(const std::string& why) {
  return answer(Outcome::refused, why);
}

Status FakeRuntime::break_capture(const std::string& what) {
  const std::string why = what + " inside a capture";
  if (capture_->broken.empty()) capture_->broken = why;
  return refuse(why);
}

// Streams that take part in one do nothing more until its end.
bool FakeRuntime::has_broken_capture(cuda::Stream stream) const {
  return capture_ && !capture_->broken.empty() && capture_->noted.contains(number(stream));
}

Status FakeRuntime::lost() {
  return answer(Outcome::failed, scheduler_.failure());
}

Access FakeRuntime::access(const void* memory, std::size_t bytes, bool writes) const {
  const char* begin = static_cast<const char*>(memory);
  return {begin, begin + bytes, writes};
}

bool FakeRuntime::is_pinned(const void* memory, std::size_t bytes) const {
  const char* begin = static_cast<const char*>(memory);
  auto block = pinned_.upper_bound(begin);
  if (block == pinned_.begin()) return false;
  --block;
  return begin + bytes <= block->first + block->second;
}

std::string FakeRuntime::find_user(const void* block) const {
  const Access all = access(block, memory_.block_size(block), true);
  if (scheduler_.may_be_used(all)) return "while it is in use";
  for (const auto& [graph, operations] : graphs_)
    for (const Operation& operation : *operations)
      for (const Access& used : operation.accesses)
        if (used.begin < all.end && all.begin < used.end) return "that a graph uses";
  return {};
}

std::string FakeRuntime::user_of(const void* block) {
  const std::lock_guard lock(mutex_);
  return find_user(block);
}

Status FakeRuntime::allocate(std::size_t bytes, void** memory) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) return break_capture("memory of the device was asked for");
  *memory = memory_.allocate(bytes);
  return *memory ? Status{} : answer(Outcome::out_of_memory, "the fake device is full");
}

Status FakeRuntime::release(void* memory) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) return break_capture("memory of the device was given back");
  if (const std::string user = find_user(memory); !user.empty())
    return refuse("memory was given back " + user);
  return memory_.release(memory) ? Status{} : refuse("no memory of this device was given back");
}

Status FakeRuntime::allocate_pinned(std::size_t bytes, void** memory) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) return break_capture("pinned memory was asked for");
  *memory = std::malloc(bytes);
  std::memset(*memory, DeviceMemory::kPoison, bytes);
  pinned_.emplace(static_cast<const char*>(*memory), bytes);
  return {};
}

Status FakeRuntime::release_pinned(void* memory) {
  const std::lock_guard lock(mutex_);
  if (scheduler_.may_be_used(access(memory, 1, true)) && scheduler_.failure().empty())
    return refuse("pinned memory was given back while it is in use");
  pinned_.erase(static_cast<const char*>(memory));
  std::free(memory);
  return {};
}

Status FakeRuntime::discard(void* memory, std::size_t bytes, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  void* place = memory_.behind(memory);
  Operation poison{.run = [place, bytes] { std::memset(place, DeviceMemory::kPoison, bytes); },
                   .accesses = {access(memory, bytes, true)}};
  if (!capture_ || is_capturing()) return give(stream, std::move(poison));
  // Of a thread that does not capture: no call of a GPU, so no part of the graph.
  const std::string why = scheduler_.give(number(stream), std::move(poison));
  return why.empty() ? Status{} : refuse(why);
}

Status FakeRuntime::create_stream(cuda::Stream* stream) {
  const std::lock_guard lock(mutex_);
  *stream = handle(scheduler_.add_stream());
  if (capture_) capture_->order.add_stream();
  return {};
}

Status FakeRuntime::destroy_stream(cuda::Stream) {
  return {};
}

Status FakeRuntime::create_event(cuda::Event* event) {
  const std::lock_guard lock(mutex_);
  auto made = std::make_unique<FakeEvent>();
  *event = reinterpret_cast<cuda::Event>(made.get());
  events_.emplace(*event, std::move(made));
  return {};
}

Status FakeRuntime::destroy_event(cuda::Event event) {
  const std::lock_guard lock(mutex_);
  return events_.erase(event) == 1 ? Status{} : refuse("no such event");
}

Status FakeRuntime::record(cuda::Event event, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  FakeEvent& e = *events_.at(event);
  if (has_broken_capture(stream)) return refuse(capture_->broken);
  e.in_capture = capture_ && capture_->noted.contains(number(stream));
  if (e.in_capture) {
    e.capture = captures_;
    e.noted = capture_->noted.at(number(stream));
    e.in_order = capture_->order.mark(number(stream));
  }
  e.mark = scheduler_.mark(number(stream));
  return {};
}

Status FakeRuntime::wait(cuda::Stream stream, cuda::Event event) {
  if (options_.on_wait) options_.on_wait();
  const std::lock_guard lock(mutex_);
  const FakeEvent& e = *events_.at(event);
  if (!e.mark.is_set) return refuse("a stream waits for an event that stands for nothing");
  if (has_broken_capture(stream)) return refuse(capture_->broken);
  if (!e.in_capture) {
    if (capture_ && capture_->noted.contains(number(stream)))
      return break_capture("a stream waits for an event from outside");
    if (!options_.is_deaf) scheduler_.wait(number(stream), e.mark);
    return {};
  }
  if (!capture_ || e.capture != captures_)
    return refuse("a stream waits for an event of a capture that has ended");
  capture_->noted.try_emplace(number(stream), 0);
  if (!options_.is_deaf) capture_->order.wait(number(stream), e.in_order);
  if (number(stream) == capture_->origin) capture_->joined[e.mark.stream] = e.noted;
  return {};
}

Status FakeRuntime::query(cuda::Event event) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) return break_capture("the host waited");
  const FakeEvent& e = *events_.at(event);
  if (!e.mark.is_set) return refuse("the host asks for an event that stands for nothing");
  if (e.in_capture) return refuse("the host asks for an event of a capture");
  const bool passed = scheduler_.ask(e.mark);
  if (!scheduler_.failure().empty()) return lost();
  return {passed ? Outcome::ok : Outcome::not_ready, ""};
}

Status FakeRuntime::complaint() {
  const std::lock_guard lock(mutex_);
  const std::string text = scheduler_.take_complaint();
  return text.empty() ? Status{} : answer(Outcome::complaint, text);
}

Status FakeRuntime::give(cuda::Stream stream, Operation operation) {
  if (!scheduler_.failure().empty()) return lost();
  if (has_broken_capture(stream)) return refuse(capture_->broken);
  if (capture_ && capture_->noted.contains(number(stream))) {
    ++capture_->noted[number(stream)];
    const std::string why = capture_->order.give(number(stream), {.run = {}, .accesses = operation.accesses});
    if (!why.empty()) return break_capture("in a graph " + why);
    capture_->operations.push_back(std::move(operation));
    return {};
  }
  const std::string why = scheduler_.give(number(stream), std::move(operation));
  return why.empty() ? Status{} : refuse(why);
}

Status FakeRuntime::copy(void* to, const void* from, std::size_t bytes, CopyKind kind, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  const bool to_device = kind != CopyKind::to_host, from_device = kind != CopyKind::to_device;
  const auto is_there = [&](const void* memory, bool on_device) {
    return on_device ? memory_.contains(memory, bytes) : is_pinned(memory, bytes);
  };
  if (!is_there(to, to_device)) return refuse("a copy to memory that is not the device's or not pinned");
  if (!is_there(from, from_device))
    return refuse("a copy from memory that is not the device's or not pinned");
  if (kind == CopyKind::to_device) {
    bytes_to_device_ += bytes;
    ++uploads_;
  }
  if (kind == CopyKind::to_host) ++reads_;
  void* target = to_device ? memory_.behind(to) : to;
  const void* source = from_device ? memory_.behind(from) : from;
  return give(stream, {.run = [=] { std::memcpy(target, source, bytes); },
                       .accesses = {access(to, bytes, true), access(from, bytes, false)}});
}

Status FakeRuntime::prepare(const cuda::Call& call, const cuda::MathOptions& math, cuda::Plan* plan,
                            std::size_t* workspace) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) return break_capture("a kernel was planned");
  if (!cuda::needs_plan(call.op)) return refuse("a plan for a kernel that has none");
  ++prepared_;
  math_ = math;
  if (!options_.plans_bfloat16 && cuda::has_bfloat16(call))
    return answer(Outcome::unsupported, "there is no engine for bf16");
  if (options_.likes_floats && call.op == cuda::Op::conv2d_backward_weight && cuda::has_bfloat16(call))
    return answer(Outcome::better_in_float, "they were faster");
  *plan = reinterpret_cast<cuda::Plan>(prepared_);
  *workspace = kWorkspace;
  return {Outcome::ok, options_.has_engines || !is_convolution(call.op) ? "" : "there is no engine for it"};
}

Status FakeRuntime::forget(cuda::Plan) {
  return {};
}

std::string FakeRuntime::check_operands(const cuda::Call& call) const {
  for (int i = 0; i < call.operands; ++i) {
    const cuda::Operand& x = call[i];
    const std::size_t bytes = static_cast<std::size_t>(x.reach()) * size_of(x.dtype);
    if (x.defined && bytes > 0 && !memory_.contains(x.data, bytes))
      return "operand " + std::to_string(i) + " does not lie in one block of the device's memory";
  }
  if (call.numbers && !memory_.contains(call.numbers, sizeof *call.numbers))
    return "an optimizer's numbers do not lie in the device's memory";
  if (call.gate && (!cuda::has_gate(call.op) || !memory_.contains(call.gate, sizeof *call.gate)))
    return "a gate does not lie in the device's memory, or the kernel has none";
  const cuda::Operand& rounded = call.rounded;
  if (rounded.defined && (rounded.dtype != DType::bf16 || rounded.count() != call[0].count() ||
                          !memory_.contains(rounded.data, rounded_bytes(call))))
    return "the rounded copy of an optimizer's weights is none";
  return {};
}

// What a kernel must not do ends a device, as a bad address on a GPU does.
void FakeRuntime::run_kernels(const cuda::Call& call, const std::function<void*(const void*)>& behind) {
  try {
    run_on_kernels(call, behind);
  } catch (const std::logic_error& error) {
    throw DeviceLost(error.what());
  }
}

Operation FakeRuntime::operation_of(const cuda::Call& call, void* workspace, std::size_t workspace_bytes) {
  Operation operation;
  for (int i = 0; i < call.operands; ++i) {
    const cuda::Operand& x = call[i];
    const std::size_t bytes = static_cast<std::size_t>(x.reach()) * size_of(x.dtype);
    if (x.defined && bytes > 0) operation.accesses.push_back(access(x.data, bytes, i < call.outputs));
  }
  if (call.rounded.defined)
    operation.accesses.push_back(access(call.rounded.data, rounded_bytes(call), true));
  void* scratch = workspace_bytes > 0 ? memory_.behind(workspace) : nullptr;
  if (scratch) operation.accesses.push_back(access(workspace, workspace_bytes, true));
  if (call.numbers) operation.accesses.push_back(access(call.numbers, sizeof *call.numbers, false));
  if (call.gate) operation.accesses.push_back(access(call.gate, sizeof *call.gate, false));
  operation.run = [this, call, scratch, workspace_bytes] {
    if (!options_.computes) return;
    if (scratch) std::memset(scratch, DeviceMemory::kPoison, workspace_bytes);
    const auto behind = [this](const void* memory) { return memory_.behind(memory); };
    if (cuda::needs_plan(call.op))
      run_planned(call, oracle_, behind, options_.has_engines);
    else
      run_kernels(call, behind);
  };
  return operation;
}

Status FakeRuntime::launch(const cuda::Call& call, cuda::Plan plan, void* workspace, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (cuda::needs_plan(call.op) != (plan != nullptr)) return refuse("a kernel without its plan");
  if (!cuda::takes_bfloat16(call)) return refuse("no kernel takes these bf16 operands");
  const std::size_t workspace_bytes = plan ? kWorkspace : 0;
  if (plan && !memory_.contains(workspace, workspace_bytes))
    return refuse("a plan without its scratch memory");
  if (const std::string why = check_operands(call); !why.empty()) return refuse(why);
  Operation operation = operation_of(call, workspace, workspace_bytes);
  ++launches_;
  if (options_.on_launch) options_.on_launch(call);
  operation.hangs = launches_ == options_.hanging_launch;
  if (launches_ == options_.delayed_launch) operation.delay = kDelay;
  if (launches_ == options_.failing_launch)
    operation.run = [] { throw DeviceLost("an illegal memory access was encountered"); };
  return give(stream, std::move(operation));
}

// An operation is made anew for each repetition of a graph: it remembers how far the ranks are with it.
Status FakeRuntime::give_to_ranks(cuda::Stream stream, std::int64_t number, const RankBuffers& buffers,
                                  const MakeOperation& make, const std::function<void()>& fail) {
  const std::lock_guard lock(mutex_);
  for (const auto& [memory, bytes] : {std::pair(buffers.in, buffers.in_bytes),
                                      std::pair<const void*, std::size_t>(buffers.out, buffers.out_bytes)})
    if (!memory_.contains(memory, bytes))
      return refuse("ranks exchange what does not lie in one block of memory");
  const auto made = std::make_shared<Operation>();
  const auto fresh = [=, this] { return make(memory_.behind(buffers.in), memory_.behind(buffers.out)); };
  Operation operation{
      .run =
          [made] {
            made->run();
            *made = {};
          },
      .accesses = {access(buffers.in, buffers.in_bytes, false), access(buffers.out, buffers.out_bytes, true)},
      .is_ready =
          [made, fresh] {
            if (!made->run) *made = fresh();
            return made->is_ready();
          }};
  operation.hangs = number == options_.hanging_exchange;
  if (number == options_.delayed_exchange) operation.delay = kDelay;
  if (number == options_.failing_exchange)
    operation.is_ready = [fail] {
      fail();
      return false;
    };
  return give(stream, std::move(operation));
}

Status FakeRuntime::begin_capture(cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  if (capture_) return refuse("a capture is already under way");
  capture_ = std::make_unique<Capture>();
  ++captures_;
  capture_->origin = number(stream);
  capture_->noted[capture_->origin] = 0;
  for (std::size_t streams = scheduler_.streams(); streams > 0; --streams) capture_->order.add_stream();
  return {};
}

Status FakeRuntime::end_capture(cuda::Stream stream, cuda::Graph* graph) {
  const std::lock_guard lock(mutex_);
  if (!capture_ || number(stream) != capture_->origin)
    return refuse("no capture of this stream is under way");
  const std::unique_ptr<Capture> ended = std::move(capture_);
  if (!ended->broken.empty()) return refuse(ended->broken);
  for (const auto& [other, noted] : ended->noted)
    if (other != ended->origin && ended->joined[other] < noted)
      return refuse("a stream of the capture did not come back to the first one");
  if (captures_ == options_.failing_graph)
    return answer(Outcome::out_of_memory, "the fake device has no memory for a graph");
  auto made = std::make_unique<std::vector<Operation>>(std::move(ended->operations));
  *graph = reinterpret_cast<cuda::Graph>(made.get());
  graphs_.emplace(*graph, std::move(made));
  return {};
}

Status FakeRuntime::replay(cuda::Graph graph, cuda::Stream stream) {
  const std::lock_guard lock(mutex_);
  ++replays_;
  for (const Operation& operation : *graphs_.at(graph))
    if (const Status status = give(stream, operation); !status.ok()) return status;
  return {};
}

Status FakeRuntime::destroy_graph(cuda::Graph graph) {
  const std::lock_guard lock(mutex_);
  return graphs_.erase(graph) == 1 ? Status{} : refuse("no such graph");
}

}  // namespace ronde::test
