#include "cuda/emulated/run_kernel.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <ronde/core/dtype.h>

#include "cuda/gpu/complaint_text.h"
#include "cuda/gpu/launch.cuh"

namespace ronde::inline v0::cuda {

bool may_be_early() {
  return true;
}

}  // namespace ronde::inline v0::cuda

namespace ronde::test {

namespace {

constexpr std::size_t kGuard = 256;  // bytes; kernels look at addresses modulo 16
/// Fills guards: as bf16, float or double a NaN, another one for each copy, as arithmetic hands a NaN on.
constexpr std::uint16_t kPoison = 0x7FF0;

struct Range {
  char* begin;
  char* end;
};

/// What a call uses as one operand.
struct Part {
  char* begin;
  char* end;
  bool is_written;
};

/// A range's copy, at an address that is the same modulo kGuard, with guards on both sides.
class GuardedCopy {
 public:
  GuardedCopy(Range range, std::size_t number)
      : range_(range),
        poison_(static_cast<std::uint16_t>(kPoison + 1 + number)),
        before_(kGuard + reinterpret_cast<std::uintptr_t>(range.begin) % kGuard),
        size_(static_cast<std::size_t>(range.end - range.begin)),
        bytes_(static_cast<char*>(::operator new (before_ + size_ + kGuard, std::align_val_t{kGuard}))) {
    poison(bytes_.get(), before_);
    poison(copy() + size_, kGuard);
    std::memcpy(copy(), range.begin, size_);
  }

  bool holds(const char* address) const { return address >= range_.begin && address < range_.end; }
  char* of(const char* address) const { return copy() + (address - range_.begin); }
  bool is_intact() const { return is_poison(bytes_.get(), before_) && is_poison(copy() + size_, kGuard); }

 private:
  struct Free {
    void operator()(char* bytes) const { ::operator delete (bytes, std::align_val_t{kGuard}); }
  };
  char poison_at(const char* address) const {
    return static_cast<char>(reinterpret_cast<std::uintptr_t>(address) % 2 == 0 ? poison_ & 0xFF
                                                                                : poison_ >> 8);
  }
  void poison(char* bytes, std::size_t count) const {
    for (char* byte = bytes; byte < bytes + count; ++byte) *byte = poison_at(byte);
  }
  bool is_poison(const char* bytes, std::size_t count) const {
    for (const char* byte = bytes; byte < bytes + count; ++byte)
      if (*byte != poison_at(byte)) return false;
    return true;
  }
  char* copy() const { return bytes_.get() + before_; }

  Range range_;
  std::uint16_t poison_;
  std::size_t before_, size_;
  std::unique_ptr<char, Free> bytes_;
};

class Sandbox {
 public:
  Sandbox(const cuda::Call& call, const std::function<void*(const void*)>& behind);

  const cuda::Call& call() const { return call_; }
  /// Copies back what was to be written.
  void leave() const;

 private:
  std::vector<Range> disjoint() const;
  const GuardedCopy& copy_of(const char* address) const;

  cuda::Call call_;
  std::vector<Part> parts_;
  std::vector<GuardedCopy> copies_;
};

std::size_t bytes_of(const cuda::Operand& x) {
  return static_cast<std::size_t>(x.reach()) * size_of(x.dtype);
}

Sandbox::Sandbox(const cuda::Call& call, const std::function<void*(const void*)>& behind) : call_(call) {
  const auto add = [&](const void* address, std::size_t bytes, bool is_written) {
    if (!address || bytes == 0) return;
    char* begin = static_cast<char*>(behind(address));
    parts_.push_back({begin, begin + bytes, is_written});
  };
  for (int i = 0; i < call.operands; ++i) add(call[i].data, bytes_of(call[i]), i < call.outputs);
  add(call.rounded.data, bytes_of(call.rounded), true);
  add(call.numbers, sizeof *call.numbers, false);
  add(call.gate, sizeof *call.gate, false);
  for (const Range& range : disjoint()) copies_.emplace_back(range, copies_.size());
  const auto moved = [&](const void* address, std::size_t bytes) {
    const char* begin = address && bytes > 0 ? static_cast<char*>(behind(address)) : nullptr;
    return begin ? copy_of(begin).of(begin) : nullptr;
  };
  for (cuda::Operand& x : call_.tensors) x.data = moved(x.data, bytes_of(x));
  call_.rounded.data = moved(call.rounded.data, bytes_of(call.rounded));
  call_.numbers = reinterpret_cast<const cuda::StepNumbers*>(moved(call.numbers, sizeof *call.numbers));
  call_.gate = reinterpret_cast<const double*>(moved(call.gate, sizeof *call.gate));
}

std::vector<Range> Sandbox::disjoint() const {
  std::vector<Part> parts = parts_;
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.begin < b.begin; });
  std::vector<Range> result;
  for (const Part& part : parts) {
    if (!result.empty() && part.begin < result.back().end)
      result.back().end = std::max(result.back().end, part.end);
    else
      result.push_back({part.begin, part.end});
  }
  return result;
}

const GuardedCopy& Sandbox::copy_of(const char* address) const {
  return *std::find_if(copies_.begin(), copies_.end(),
                       [&](const GuardedCopy& copy) { return copy.holds(address); });
}

void Sandbox::leave() const {
  for (const GuardedCopy& copy : copies_)
    if (!copy.is_intact()) throw KernelFault("a kernel wrote beside its operands");
  for (const Part& part : parts_)
    if (part.is_written)
      std::memcpy(part.begin, copy_of(part.begin).of(part.begin),
                  static_cast<std::size_t>(part.end - part.begin));
  for (const Part& part : parts_)
    if (!part.is_written && std::memcmp(part.begin, copy_of(part.begin).of(part.begin),
                                        static_cast<std::size_t>(part.end - part.begin)) != 0)
      throw KernelFault("a kernel wrote to what it was to read only");
}

}  // namespace

void run_on_kernels(const cuda::Call& call, const std::function<void*(const void*)>& behind,
                    const EnqueueKernels& enqueue) {
  const Sandbox sandbox(call, behind);
  cuda::Complaint complaint;
  enqueue(sandbox.call(), {.stream = nullptr, .complaint = &complaint});
  sandbox.leave();
  if (complaint.is_set == 1) throw std::runtime_error(text_of(complaint));
}

}  // namespace ronde::test
