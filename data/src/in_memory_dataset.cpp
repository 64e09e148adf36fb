#include <ronde/data/in_memory_dataset.h>

#include <cstring>
#include <typeinfo>

#include <ronde/core/counted.h>
#include <ronde/core/cuda.h>

#include "scale_values.h"

namespace ronde::inline v0 {
namespace {

Tensor in_host_memory(const Tensor& tensor) {
  return on_host(tensor).contiguous();
}

/// Whole numbers as i32; an error for one that is not.
Tensor as_labels(const Tensor& targets) {
  const Tensor numbers = in_host_memory(targets).to(DType::i64), labels = numbers.to(DType::i32);
  const std::int64_t* from = numbers.data<std::int64_t>();
  const std::int64_t per_sample = targets.shape().tail(1).count();
  const auto* to = labels.data<std::int32_t>();
  for (std::int64_t i = 0; i < labels.count(); ++i)
    require(to[i] == from[i], "[in_memory_dataset] target ", from[i], " of sample ", i / per_sample,
            " is no label of 32 bits");
  return labels;
}

/// Samples lie anywhere in memory: fetching the next one while this one is scaled halves the time.
template <class From>
void prefetch(const From* x, std::int64_t count) {
  constexpr std::int64_t kCacheLine = 64 / sizeof(From);
  for (std::int64_t i = 0; i < count; i += kCacheLine) __builtin_prefetch(x + i);
}

template <class T, class From>
void gather(std::span<const std::int64_t> samples, const Tensor& source, T* to,
            const InMemoryOptions& options) {
  const std::int64_t stride = source.shape().tail(1).count();
  const From* from = source.data<From>();
  for (std::size_t k = 0; k < samples.size(); ++k) {
    if (k + 1 < samples.size()) prefetch(from + samples[k + 1] * stride, stride);
    scale_values(from + samples[k] * stride, stride, to, options.scale, options.offset);
    to += stride;
  }
}

}  // namespace

InMemoryDataset::InMemoryDataset(const Tensor& inputs, const Tensor& targets, InMemoryOptions options)
    : options_(std::move(options)) {
  require(inputs.defined() && targets.defined() && inputs.rank() >= 1 && targets.rank() >= 1,
          "[in_memory_dataset] expects inputs (n, ...) and targets (n, ...)");
  require(inputs.size(0) == targets.size(0), "[in_memory_dataset] inputs ", inputs.shape(), " and targets ",
          targets.shape(), " must have the same number of samples");
  const DType type = inputs.dtype();
  require(type == DType::u8 || type == DType::i32 || type == DType::f32 || type == DType::f64,
          "[in_memory_dataset] expects inputs of u8, i32, f32 or f64, got ", type);
  const bool values = targets.dtype() == DType::f32 || targets.dtype() == DType::f64;
  require(values || !is_floating(targets.dtype()),
          "[in_memory_dataset] expects targets of f32, f64 or integers, got ", targets.dtype());
  inputs_ = in_host_memory(inputs);
  targets_ = values || targets.dtype() == DType::i32 ? in_host_memory(targets) : as_labels(targets);

  const auto classes = static_cast<std::int64_t>(options_.class_names.size());
  if (classes == 0 || values) return;
  const std::int32_t* labels = targets_.data<std::int32_t>();
  for (std::int64_t i = 0; i < targets_.count(); ++i)
    require(labels[i] >= 0 && labels[i] < classes, "[in_memory_dataset] label ", labels[i], " of sample ", i,
            " is none of ", counted(classes, "class", "classes"));
}

const InMemoryDataset* InMemoryDataset::in_memory() const {
  return typeid(*this) == typeid(InMemoryDataset) ? this : nullptr;
}

void InMemoryDataset::read(std::span<const std::int64_t> samples, const Tensor& inputs,
                           const Tensor& targets) const {
  read_targets(samples, targets);
  visit_real(inputs.dtype(), "in_memory_dataset", [&](auto real) {
    using T = decltype(real);
    if (inputs_.dtype() == DType::u8)
      gather<T, std::uint8_t>(samples, inputs_, inputs.data<T>(), options_);
    else if (inputs_.dtype() == DType::i32)
      gather<T, std::int32_t>(samples, inputs_, inputs.data<T>(), options_);
    else if (inputs_.dtype() == DType::f32)
      gather<T, float>(samples, inputs_, inputs.data<T>(), options_);
    else
      gather<T, double>(samples, inputs_, inputs.data<T>(), options_);
  });
}

void InMemoryDataset::read_targets(std::span<const std::int64_t> samples, const Tensor& targets) const {
  for (const std::int64_t sample : samples)
    require(sample >= 0 && sample < size(), "[in_memory_dataset] sample ", sample, " of ", size());
  require(targets.dtype() == target_dtype(), "[in_memory_dataset] expects memory for targets of ",
          target_dtype(), ", got ", targets.dtype());
  const std::size_t bytes = static_cast<std::size_t>(target_shape().count()) * size_of(target_dtype());
  const auto* from = static_cast<const char*>(targets_.raw());
  auto* to = static_cast<char*>(targets.raw());
  for (const std::int64_t sample : samples) {
    std::memcpy(to, from + static_cast<std::size_t>(sample) * bytes, bytes);
    to += bytes;
  }
}

}  // namespace ronde::inline v0
