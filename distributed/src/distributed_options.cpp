#include <ronde/distributed/distributed_options.h>

#include <type_traits>

namespace ronde::inline v0 {

std::string to_string(const Compression& compression) {
  return std::visit(
      [](const auto& chosen) -> std::string {
        using T = std::decay_t<decltype(chosen)>;
        if constexpr (std::is_same_v<T, compression::Bf16>) return "bf16";
        if constexpr (std::is_same_v<T, compression::Fp16>) return "fp16";
        if constexpr (std::is_same_v<T, compression::TopK>) return cat("top-k(", chosen.ratio, ")");
        if constexpr (std::is_same_v<T, compression::PowerSgd>)
          return cat("power-sgd(", chosen.rank,
                     chosen.start_step > 0 ? cat(", from step ", chosen.start_step) : "", ")");
        return "none";
      },
      compression);
}

bool has_error_feedback(const Compression& compression) {
  return std::holds_alternative<compression::TopK>(compression) ||
         std::holds_alternative<compression::PowerSgd>(compression);
}

std::string to_string(const DistributedOptions& options) {
  std::string text = options.combine == Combine::adasum ? "adasum" : "average";
  if (!std::holds_alternative<compression::None>(options.compression))
    text += cat(", compression ", to_string(options.compression));
  if (options.local_steps.period > 1)
    text += cat(", weights averaged every ", options.local_steps.period, " steps from step ",
                options.local_steps.start_step);
  if (options.state == StateLayout::sharded) text += ", sharded optimizer state";
  return text;
}

void check(const DistributedOptions& options) {
  const BucketOptions& buckets = options.buckets;
  require<UsageError>(buckets.first_bucket_bytes > 0 && buckets.bucket_bytes > 0,
                      "[distributed_optimizer] bucket sizes must be positive, got ",
                      buckets.first_bucket_bytes, " and ", buckets.bucket_bytes);
  if (const auto* top_k = std::get_if<compression::TopK>(&options.compression))
    require<UsageError>(top_k->ratio > 0.0 && top_k->ratio <= 1.0,
                        "[distributed_optimizer] top-k: ratio must be in (0, 1], got ", top_k->ratio);
  if (const auto* power_sgd = std::get_if<compression::PowerSgd>(&options.compression))
    require<UsageError>(power_sgd->rank >= 1 && power_sgd->start_step >= 0,
                        "[distributed_optimizer] power-sgd: rank must be at least 1 and start_step not "
                        "negative, got ",
                        power_sgd->rank, " and ", power_sgd->start_step);
  require<UsageError>(options.local_steps.period >= 1 && options.local_steps.start_step >= 0,
                      "[distributed_optimizer] local steps: period must be at least 1 and start_step not "
                      "negative, got ",
                      options.local_steps.period, " and ", options.local_steps.start_step);
  const int special = !std::holds_alternative<compression::None>(options.compression) +
                      (options.combine != Combine::average) + (options.state == StateLayout::sharded);
  require<UsageError>(
      special <= 1, "[distributed_optimizer] compression, adasum and sharded state exclude each other, got ",
      to_string(options));
  require<UsageError>(options.local_steps.period == 1 || options.state == StateLayout::replicated,
                      "[distributed_optimizer] local steps need the whole optimizer state on each rank, got ",
                      to_string(options));
}

}  // namespace ronde::inline v0
