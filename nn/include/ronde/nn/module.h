/// Module: something with named weights and a forward pass. Layers derive from it, and so do users' own nets:
///
///     struct Net : ronde::Module {
///       ronde::Dense hidden{{.units = 64, .activation = ronde::Activation::relu}};
///       ronde::Dense out{{.units = 10}};
///       Net() { add_module("hidden", hidden); add_module("out", out); }
///       ronde::Variable forward(const ronde::Variable& x, const ronde::Context& context) override {
///         return out(hidden(x, context), context);
///       }
///     };
///     Net net;
///     net.build({28 * 28});
///
/// A layer with weights of its own makes them for the shape of its first input:
///
///     struct Scale : ronde::Module {
///       ronde::Variable factor;
///       std::string class_name() const override { return "Scale"; }   // in summary(); its name: "scale"
///       void build_weights(const ronde::Shape& input, const ronde::BuildOptions& options) override {
///         factor = add_weight({.name = "factor"}, {input.back()}, ronde::Initializer::ones, options);
///       }
///       ronde::Variable forward(const ronde::Variable& x, const ronde::Context&) override {
///         return x * factor;
///       }
///     };
///
/// Keras knows nothing of such a layer: `Model::save` of a net that has one writes weights alone.
///
/// Names are identity: "hidden/kernel" is the same weight in files, hashes and errors. `build` runs the net
/// once on zeros; that creates the weights and fixes their order of execution. A child that only training
/// reaches must have its own `build` called before the net's. What has no weights needs no name, and may be
/// made where it is called: `Flatten()(x, context)`.
///
/// Ownership: a module refers to its member children and owns those given as a unique_ptr; every child has
/// one parent. Thread safety: calls of a built module change nothing in it, unless the layer says so
/// (BatchNormalization's moving statistics, Dropout without sample keys).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ronde/core/sum_over_ranks.h>
#include <ronde/core/variable.h>
#include <ronde/nn/config.h>
#include <ronde/nn/regularizer.h>

namespace ronde::inline v0 {

class Initializer;
class Module;

/// What the dry run of a `build` tells layers, and learns of them.
struct BuildTrace {
  const Module* net = nullptr;      ///< that is built
  bool draws = true;                ///< as in BuildOptions
  std::vector<Module*> order = {};  ///< of execution
  std::set<const Module*> reached = {};  ///< those in `order`
};

/// What a forward pass needs to know besides its input.
struct Context {
  bool training = false;
  std::uint64_t seed = 0;   ///< of the run; random numbers are keyed by (seed, epoch, global sample, layer)
  Tensor sample_keys = {};  ///< i64 (n, 2): global sample and epoch of each row; a loader's batch has them
  BuildTrace* trace = nullptr;       ///< in the dry run of a build
  SumOverRanks sum_over_ranks =
      {};  ///< for synchronized layers and losses of masked outputs; empty: this process trains alone
};

/// How a weight lies in memory compared with Keras' files.
enum class WeightLayout {
  plain,        ///< the same
  conv,         ///< OHWI here, HWIO in files
  conv1d,       ///< (out, 1, k, in) here, (k, in, out) in files
  depthwise,    ///< (c * multiplier, kh, kw, 1) here, (kh, kw, c, multiplier) in files
  depthwise1d,  ///< (c * multiplier, 1, k, 1) here, (k, c, multiplier) in files
};

/// A named weight of a module. A handle: copies share the variable.
struct Parameter {
  std::string name;  ///< in a list of a whole net the full path, "conv2d/kernel"
  Variable variable = {};
  bool trainable = true;  ///< false for moving statistics
  WeightLayout layout = WeightLayout::plain;
  std::int64_t depth_multiplier = 1;  ///< of a depthwise weight
  bool sparse_gradient = false;       ///< a table of rows, most of which get no gradient from a batch
  Regularizer regularizer = {};       ///< its penalty is a part of the loss while it is trained
};

struct BuildOptions {
  std::uint64_t seed = 0;  ///< initial weights are a function of (seed, full name)
  DType dtype = DType::f32;
  Backend* backend = nullptr;  ///< nullptr: the default backend
  /// What layers compute in; empty: `dtype`. bf16 beside weights in f32 is Keras' policy "mixed_bfloat16".
  std::optional<DType> compute_dtype = {};
  /// Whether initial weights are drawn; else those that would be are 0, for the weights of a file to come.
  bool draws = true;
};

class RONDE_API Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  /// Moves a module whose children, if any, it owns; an error for one that only refers to members of itself.
  Module(Module&& other);
  Module& operator=(Module&&) = delete;

  /// The computation. Call modules through `operator()`, not through this.
  virtual Variable forward(const Variable& x, const Context& context) = 0;
  /// The computation of a layer that takes several inputs, such as Add; an error for any other.
  virtual Variable join(const std::vector<Variable>& inputs, const Context& context);
  /// Creates the weights at the first call, then runs `forward`. Inside another module's `forward` pass its
  /// context on.
  Variable operator()(const Variable& x, const Context& context = {});
  /// The same with `join`. Weights are created for the first input's shape, unless the layer says otherwise.
  Variable operator()(const std::vector<Variable>& inputs, const Context& context = {});

  /// Keras' class name for a layer, "Model" for anything else.
  virtual std::string class_name() const { return "Model"; }
  /// Keras' constructor arguments; an empty dict for a module Keras has no class for.
  virtual ConfigDict config() const { return {}; }
  /// What of the config that this layer was read from is not supported or not known, and what config() hands
  /// on as it was, so that a file keeps it: activity regularizers, constraints, regularizers and options that
  /// are not known.
  const ConfigDict& left_out() const { return left_out_; }
  void set_left_out(ConfigDict entries) { left_out_ = std::move(entries); }
  /// Whether a training call of this layer itself uses `Context::sum_over_ranks`: then all ranks call the net
  /// equally often, also with an empty batch.
  virtual bool is_synchronized() const { return false; }

  /// Whether this module itself, given inputs of one shape, computes the same each time: the same operations
  /// with the same numbers, whatever the values are and whatever else has happened. Then a GPU may repeat a
  /// training step as one graph, for which `forward` is not called again. Ronde's own layers and nets need
  /// not say so; who does and has a `forward` that decides something trains on with what it decided first.
  virtual bool is_repeatable() const { return false; }

  /// Whether the result has the mask of the input, if that has one (Variable::mask) and `forward` gives it no
  /// other: each of its steps is made of the same step. Else the result has what `forward` gives it, and most
  /// often none, as in Keras.
  virtual bool keeps_mask() const { return false; }
  /// An error that names the layer if x has a mask, which in Keras would change what comes out.
  void require_no_mask(const Variable& x) const;

  /// Whether inputs are cast to the dtype that the layer computes in, if it was built with one: those of a
  /// layer without children are.
  virtual bool casts_inputs() const { return children_.empty(); }
  /// x in the dtype that the layer computes in.
  Variable in_compute_dtype(const Variable& x) const;

  /// Runs the net once on zeros of (1, input_shape...), so that every layer it reaches has its weights.
  /// A second call with the same shape does nothing; another shape is an error.
  void build(const Shape& input_shape, BuildOptions options = {});
  bool is_built() const { return built_; }
  /// Without the batch; known after build.
  const Shape& input_shape() const { return input_shape_; }
  /// Of the call in `build`, with a batch of 1.
  const Shape& output_shape() const { return output_shape_; }
  /// Whether its result has a mask (Variable::mask); known after build.
  bool output_is_masked() const { return output_is_masked_; }

  /// All weights of this module and its children with their full names: in the order in which `build` reached
  /// them, each layer's trainable ones first.
  std::vector<Parameter> parameters() const;
  /// Number of elements of all (or only of the trainable) parameters.
  std::int64_t parameter_count(bool trainable_only = false) const;

  const std::string& name() const { return name_; }
  /// Neither empty nor with a '/'; unique among the parent's children.
  void set_name(const std::string& name);
  /// Names joined by '/' from the root (exclusive) to this module; empty for the root.
  const std::string& path() const { return path_; }
  /// What errors call this module: its path, else its name, else its class ("conv2d").
  std::string label() const;
  std::vector<Module*> children() const;
  /// Freezes or unfreezes all trainable weights of this module and its children, for what is made of them
  /// behind: a ParameterArena, or `Model::compile`. An optimizer of an arena made before goes on moving them
  /// by its momentum and weight decay.
  void set_trainable(bool trainable);
  /// Of this module alone. A file says so of a net, whose layers have their own flags: a frozen one may have
  /// layers that are trained.
  void set_own_trainable(bool trainable);
  bool trainable() const { return trainable_; }

 protected:
  /// The full name that `weight` has or will have; initial values are keyed by it.
  std::string full_name(const std::string& weight) const;
  /// A layer makes its weights here with `add_weight`; `input` is the first input's shape, batch included.
  virtual void build_weights(const Shape& input, const BuildOptions& options);
  /// The same of a layer whose weights depend on more inputs than the first.
  virtual void build_weights_for(std::span<const Variable> inputs, const BuildOptions& options);
  /// Makes and registers a weight of this shape with its initial values; `parameter` says the rest of it.
  Variable add_weight(Parameter parameter, const Shape& shape, const Initializer& initializer,
                      const BuildOptions& options);
  /// Registers a weight of this module itself that has its values already.
  Variable add_parameter(Parameter parameter);
  /// Registers a member of this object; it must live as long as this object and not move.
  void add_module(std::string name, Module& child);
  /// Registers and keeps a child.
  Module& add_module(std::string name, std::unique_ptr<Module> child);
  bool is_child(const Module& module) const { return module.parent_ == this; }
  /// The name that `layer` would be registered under: its own, else Keras' for one more child of its class,
  /// as snake case with the number of children of that class so far behind it, or the next number that is
  /// free.
  std::string name_for(const Module& layer) const;

 private:
  struct Child {
    Module* module;
    std::unique_ptr<Module> owned;
  };
  void adopt(const std::string& name, Module& child);
  void require_free_name(const std::string& name, const Module* owner) const;
  void update_paths();
  void collect(std::vector<Module*>& modules);
  const Module& root() const;
  std::vector<Variable> in_compute_dtype(const std::vector<Variable>& inputs) const;
  void hand_on_mask(std::span<const Variable> inputs, Variable& output) const;
  void end_call(std::span<const Variable> inputs, const Context& context, Variable& output);
  void begin_call(std::span<const Variable> inputs, const Context& context);
  void enter(std::span<const Variable> inputs, const Context& context);
  void require_no_weights();
  void enter_late(std::span<const Variable> inputs, const Context& context);
  void dry_run(const std::vector<Shape>& inputs, const BuildOptions& options);
  void make_weights(std::span<const Variable> inputs, const Context& context);

  std::string name_;
  std::string path_;
  Module* parent_ = nullptr;
  bool built_ = false;
  bool building_ = false;  // during the dry run that starts here
  bool trainable_ = true;
  bool output_is_masked_ = false;
  std::optional<DType> compute_dtype_;
  ConfigDict left_out_;
  Shape input_shape_;
  Shape output_shape_;
  std::vector<Parameter> parameters_;
  std::vector<Child> children_;
  std::map<std::string, const Module*> child_named_;
  std::map<std::string, int> children_of_class_;
  std::vector<Module*> execution_order_;  // of the root, as found by build
};

}  // namespace ronde::inline v0
