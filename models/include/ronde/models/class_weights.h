/// ClassWeights: how much samples of each class count in `fit`. Those of a class that is not named count 1.
///
///     .class_weight = {1.0, 2.5}              // of class 0 and 1
///     .class_weight = {{0, 1.0}, {7, 2.5}}    // as a dict in Keras
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

namespace ronde::inline v0 {

class ClassWeights {
 public:
  ClassWeights() = default;
  /// Of class 0, 1, ...
  ClassWeights(const std::vector<double>& weights) {
    for (const double weight : weights) by_class_.emplace(by_class_.size(), weight);
  }
  ClassWeights(std::initializer_list<double> weights) : ClassWeights(std::vector<double>(weights)) {}
  /// Of these classes.
  ClassWeights(std::map<std::int64_t, double> weights) : by_class_(std::move(weights)) {}
  ClassWeights(std::initializer_list<std::pair<const std::int64_t, double>> weights) : by_class_(weights) {}

  /// To Clang 14 `weights = {}` could else be one of classes by number or by name.
  ClassWeights& operator=(std::initializer_list<double> weights) { return *this = ClassWeights(weights); }

  bool empty() const { return by_class_.empty(); }
  const std::map<std::int64_t, double>& by_class() const { return by_class_; }

 private:
  std::map<std::int64_t, double> by_class_;
};

}  // namespace ronde::inline v0
