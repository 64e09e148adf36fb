#include "cuda/side_stream.h"

#include <algorithm>
#include <utility>

#include "cuda/status.h"

namespace ronde::inline v0::cuda {

SideStream::~SideStream() {
  if (forked_) runtime_.destroy_event(forked_);
  if (joined_) runtime_.destroy_event(joined_);
  if (side_) runtime_.destroy_stream(side_);
}

bool SideStream::takes(const Call& call) {
  switch (call.op) {
    case Op::dense_backward_weight:
    case Op::conv2d_backward_weight:
      return true;
    case Op::softmax:  // of the last layer, whose loss goes by logits
      return call[0].rank == 2;
    case Op::reduce:  // to a loss
      return call[0].count() == 1 && call[0].dtype != DType::f64;
    case Op::accumulate:  // to sums over an epoch
    case Op::count_correct:
      return call.gate != nullptr;
    default:
      return false;
  }
}

void SideStream::open() {
  check(runtime_.create_stream(&side_), "a second stream");
  check(runtime_.create_event(&forked_), "an event");
  check(runtime_.create_event(&joined_), "an event");
}

void SideStream::launch(const Call& call, Plan plan, std::size_t workspace,
                        std::span<const Tensor* const> tensors) {
  if (!joined_) open();
  // Before the fork: another thread may have had the block until now, on the main stream.
  workspaces_.push_back(std::make_unique<Workspace>(allocator_, workspace));
  held_bytes_ += workspace;
  check(runtime_.record(forked_, main_), "a kernel beside others");
  check(runtime_.wait(side_, forked_), "a kernel beside others");
  for (const Tensor* tensor : tensors) {
    if (!tensor->defined()) continue;
    held_.push_back(*tensor);
    held_bytes_ += tensor->byte_size();
  }
  for (int i = 0; i < call.operands; ++i)
    if (call[i].data) (i < call.outputs ? written_ : read_).push_back(range_of(call[i]));
  if (call.gate)
    read_.push_back({reinterpret_cast<const char*>(call.gate), reinterpret_cast<const char*>(call.gate + 1)});
  check(runtime_.launch(call, plan, workspaces_.back()->memory(), side_), "a kernel");
  if (held_bytes_ > most_held_) join();
}

void SideStream::join() {
  if (held_.empty()) return;
  check(runtime_.record(joined_, side_), "joining the streams");
  check(runtime_.wait(main_, joined_), "joining the streams");
  forget();
}

void SideStream::settle() noexcept {
  if (!held_.empty() && runtime_.record(joined_, side_).ok()) runtime_.wait(main_, joined_);
  forget();
}

void SideStream::forget() {
  written_.clear();
  read_.clear();
  held_.clear();
  workspaces_.clear();
  held_bytes_ = 0;
}

SideStream::Range SideStream::range_of(const Operand& operand) {
  const auto* begin = static_cast<const char*>(operand.data);
  return {begin, begin + static_cast<std::size_t>(operand.reach()) * size_of(operand.dtype)};
}

bool SideStream::overlaps(const std::vector<Range>& ranges, const Operand& operand) {
  if (!operand.data) return false;
  const Range mine = range_of(operand);
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return mine.begin < range.end && range.begin < mine.end; });
}

bool SideStream::is_in_the_way(const Call& call) const {
  for (int i = 0; i < call.operands; ++i)
    if (overlaps(written_, call[i]) || (i < call.outputs && overlaps(read_, call[i]))) return true;
  return overlaps(written_, call.rounded) || overlaps(read_, call.rounded);
}

std::unique_ptr<SideStream> SideStreams::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<SideStream>(runtime_, allocator_, main_);
  std::unique_ptr<SideStream> side = std::move(free_.back());
  free_.pop_back();
  return side;
}

void SideStreams::give_back(std::unique_ptr<SideStream> side) {
  side->settle();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(side));
}

}  // namespace ronde::inline v0::cuda
