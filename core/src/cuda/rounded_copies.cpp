#include "cuda/rounded_copies.h"

#include <algorithm>

namespace ronde::inline v0::cuda {

namespace {

constexpr std::int64_t kSize = sizeof(float);

std::int64_t elements_between(const Tensor& weights, const void* begin) {
  return (static_cast<const char*>(begin) - static_cast<const char*>(weights.raw())) / kSize;
}

bool is_dense(const Operand& x) {
  return x.reach() == x.count();
}

}  // namespace

std::shared_ptr<const void> RoundedCopies::keep(const Tensor& weights) {
  if (weights.dtype() != DType::f32 || weights.count() == 0 || !weights.is_contiguous()) return nullptr;
  const auto copy = std::make_shared<Copy>(Copy{.weights = weights, .rounded = {}});
  const char* begin = static_cast<const char*>(weights.raw());
  const std::lock_guard lock(mutex_);
  std::erase_if(kept_, [](const Kept& kept) { return kept.copy.expired(); });
  kept_.push_back({begin, begin + weights.byte_size(), copy});
  return copy;
}

/// Of which these elements are part.
std::shared_ptr<RoundedCopies::Copy> RoundedCopies::find(const void* begin, std::int64_t elements) {
  const char* first = static_cast<const char*>(begin);
  for (const Kept& kept : kept_) {
    if (first < kept.begin || first + elements * kSize > kept.end) continue;
    if (auto copy = kept.copy.lock()) return copy;
  }
  return nullptr;
}

std::vector<std::shared_ptr<RoundedCopies::Copy>> RoundedCopies::all() {
  std::vector<std::shared_ptr<Copy>> copies;
  for (const Kept& kept : kept_)
    if (auto copy = kept.copy.lock()) copies.push_back(std::move(copy));
  return copies;
}

void RoundedCopies::make_true(Copy& copy) {
  if (copy.is_true || !copy.rounded.defined()) return;
  round_(copy.rounded, copy.weights);
  copy.is_true = true;
}

Tensor RoundedCopies::of(const Tensor& x) {
  if (x.dtype() != DType::f32 || x.count() == 0 || !x.is_contiguous()) return {};
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Copy> copy = find(x.raw(), x.count());
  if (!copy) return {};
  if (!copy->rounded.defined()) copy->rounded = make_(copy->weights);
  make_true(*copy);
  return copy->rounded.view(elements_between(copy->weights, x.raw()), x.shape());
}

Operand RoundedCopies::beside(const Operand& weights) {
  if (weights.dtype != DType::f32 || weights.count() == 0 || !is_dense(weights)) return {};
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<Copy> copy = find(weights.data, weights.count());
  if (!copy || !copy->is_true) return {};
  Operand rounded = weights;
  rounded.dtype = DType::bf16;
  rounded.data = copy->rounded.view(elements_between(copy->weights, weights.data), {weights.count()}).raw();
  return rounded;
}

void RoundedCopies::written(const void* begin, std::size_t bytes) {
  const char* first = static_cast<const char*>(begin);
  const std::lock_guard lock(mutex_);
  for (const Kept& kept : kept_) {
    if (first >= kept.end || first + bytes <= kept.begin) continue;
    if (const auto copy = kept.copy.lock()) copy->is_true = false;
  }
}

void RoundedCopies::make_true() {
  const std::lock_guard lock(mutex_);
  for (const auto& copy : all()) make_true(*copy);
}

RoundedCopies::OfGraph RoundedCopies::of_graph() {
  const std::lock_guard lock(mutex_);
  OfGraph known;
  for (const auto& copy : all())
    if (copy->rounded.defined()) known.emplace_back(copy, copy->is_true);
  return known;
}

void RoundedCopies::doubt() {
  const std::lock_guard lock(mutex_);
  for (const auto& copy : all()) copy->is_true = false;
}

void RoundedCopies::make_true(const OfGraph& known) {
  const std::lock_guard lock(mutex_);
  for (const auto& [weak, stays_true] : known)
    if (const auto copy = weak.lock()) make_true(*copy);
}

void RoundedCopies::keep_true(const OfGraph& known) {
  const std::lock_guard lock(mutex_);
  for (const auto& copy : all()) {
    const bool stays = std::any_of(known.begin(), known.end(), [&](const auto& entry) {
      return entry.second && entry.first.lock() == copy;
    });
    copy->is_true = copy->is_true && stays;
  }
}

}  // namespace ronde::inline v0::cuda
