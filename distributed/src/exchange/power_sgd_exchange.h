/// PowerSgdExchange: parameters as matrices, in two factors of low rank. See compression::PowerSgd and Note
/// [Error feedback].
///
/// With M (m, n) what this rank's gradient and its leftovers come to and Q (n, r) the second factor of the
/// step before: P = M Q is summed over the ranks and made orthonormal, then Q = M^T P, which every rank keeps
/// as its own share P Q^T, is summed too, and P Q^T of the sums is the result. What is left is M - P Q^T with
/// the rank's own Q.
#pragma once

#include "exchange/error_feedback.h"
#include "exchange/gradient_exchange.h"

namespace ronde::inline v0 {

class PowerSgdExchange final : public GradientExchange {
 public:
  PowerSgdExchange(ParameterArena& arena, Communicator& communicator, BucketOptions options,
                   compression::PowerSgd choice);

  void expect(const StepOutlook& outlook) override;
  void end_step(double total_samples) override;
  void reset() override;

 private:
  /// A parameter that is compressed.
  struct Matrix {
    std::string name;
    std::int64_t offset = 0;  // in its bucket
    std::int64_t rows = 0, columns = 0;
    Tensor q;  // (columns, r); between steps that of the step before

    Shape shape() const { return {rows, columns}; }
  };
  /// Of one bucket.
  struct Factors {
    std::vector<Matrix> matrices;
    std::vector<Segment> whole;  // parameters that are not compressed
    Tensor first, second;        // (elements,): the P of all matrices, then `whole`; the Q of all matrices
  };

  Factors factors_of(const GradientBuckets::Bucket& bucket) const;
  void run(const Part& part, Wire& wire) override;
  void sum_first_factors(Factors& factors, const Tensor& left, Wire& wire) const;
  void sum_second_factors(Factors& factors, const Tensor& left, const Part& part, Wire& wire) const;

  compression::PowerSgd choice_;
  std::vector<Factors> factors_;  // by bucket
  ErrorFeedback memory_;
};

}  // namespace ronde::inline v0
