/// One weight of a net as a file of either flavour has it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <ronde/models/named_weights.h>

namespace ronde::inline v0 {

class NamedWeight {
 public:
  /// `flattened` is the shape (h, w, c) of the image whose flattened pixels the weight's rows belong to, or
  /// empty; see Note [Flattened images]. A vector PyTorch has without axes of extent 1.
  NamedWeight(Parameter parameter, WeightNames names, const Shape& flattened, bool is_vector);

  const std::string& name() const { return name_; }
  /// In the file.
  Shape shape() const;
  /// A dense copy.
  Tensor get() const;
  /// From any floating dtype, of that shape.
  void set(const Tensor& value);

 private:
  bool is_dense_kernel() const;

  Parameter parameter_;
  WeightNames names_;
  std::string name_;
  Shape flattened_;
  bool is_vector_;
};

/// Named from `net` on.
std::vector<NamedWeight> named_weights_of(const Module& net, WeightNames names);
/// Those of a net that PyTorch cannot have, too.
std::set<std::string> weight_names_of(const Module& net, WeightNames names);

}  // namespace ronde::inline v0
