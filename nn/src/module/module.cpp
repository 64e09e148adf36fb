#include <algorithm>
#include <iterator>

#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/core/trace.h>
#include <ronde/nn/initializer.h>
#include <ronde/nn/module.h>

#include "config/snake_case.h"

namespace ronde::inline v0 {

Module::Module(Module&& other) {
  require(other.parent_ == nullptr, "[", other.label(), "] is a part of another module and cannot move");
  for (const Child& child : other.children_)
    require(child.owned != nullptr, "[", other.label(), "] refers to its member \"", child.module->name_,
            "\" and cannot move; make it in place, or keep it in a std::unique_ptr");
  name_ = std::move(other.name_);
  built_ = other.built_;
  compute_dtype_ = other.compute_dtype_;
  trainable_ = other.trainable_;
  left_out_ = std::move(other.left_out_);
  input_shape_ = other.input_shape_;
  output_shape_ = other.output_shape_;
  output_is_masked_ = other.output_is_masked_;
  parameters_ = std::move(other.parameters_);
  children_ = std::move(other.children_);
  child_named_ = std::move(other.child_named_);
  children_of_class_ = std::move(other.children_of_class_);
  execution_order_ = std::move(other.execution_order_);
  for (const Child& child : children_) child.module->parent_ = this;
  std::replace(execution_order_.begin(), execution_order_.end(), &other, this);
}

// --- calls

// Note [Dry run]
// Layers get their weights in a call of the net on zeros, the dry run, where each sees the shape of its
// input. What a call does ahead of `forward`, and `build`:
//
//     the module is ...               built           not built
//     called in a dry run: a trace    enter           enter: make_weights and, if it is no part of the net,
//                                                     require_no_weights
//     called below a net that is not  nothing         enter_late: dry_run of this module alone
//     built, or is one itself
//     called below a net that is      nothing         enter_late: make_weights, which must not find any
//     called in `forward` of a dry    nothing         enter_late: an error
//     run, without its context
//     built: build(shape)             an error if of  dry_run
//                                     another shape
//
// `dry_run` calls the module with a trace, so that all it reaches does `enter`, which notes the order of
// execution. One that throws takes back what it built.

Variable Module::operator()(const Variable& x, const Context& context) {
  const TraceLayer traced(path_);
  begin_call({&x, 1}, context);
  const Variable input = casts_inputs() ? in_compute_dtype(x) : x;
  Variable output = forward(input, context);
  end_call({&input, 1}, context, output);
  return output;
}

Variable Module::operator()(const std::vector<Variable>& inputs, const Context& context) {
  require(!inputs.empty(), "[", label(), "] was called with no inputs");
  const TraceLayer traced(path_);
  begin_call(inputs, context);
  Variable output =
      compute_dtype_ && casts_inputs() ? join(in_compute_dtype(inputs), context) : join(inputs, context);
  end_call(inputs, context, output);
  return output;
}

Variable Module::in_compute_dtype(const Variable& x) const {
  if (!compute_dtype_ || !is_floating(x.dtype())) return x;
  Variable result = cast(x, *compute_dtype_);
  if (x.mask().defined()) result.set_mask(x.mask());
  return result;
}

void Module::end_call(std::span<const Variable> inputs, const Context& context, Variable& output) {
  hand_on_mask(inputs, output);
  if (context.trace == nullptr) return;
  output_shape_ = output.shape();
  output_is_masked_ = output.mask().defined();
}

void Module::hand_on_mask(std::span<const Variable> inputs, Variable& output) const {
  const Tensor& mask = inputs.front().mask();
  if (!keeps_mask()) {
    if (output.same_as(inputs.front()) && children_.empty()) output.set_mask({});
    return;
  }
  for (const Variable& input : inputs)
    require(mask.defined() == input.mask().defined() &&
                (!mask.defined() || mask.shares_storage_with(input.mask())),
            "[", label(),
            "] its inputs have masks of their own, or some have none: Keras 2 and 3 merge masks in different "
            "ways");
  if (mask.defined() && !output.mask().defined()) output.set_mask(mask);
}

void Module::require_no_mask(const Variable& x) const {
  require(!x.mask().defined(), "[", label(), "] its input has a mask (Masking, or Embedding with mask_zero), which ",
          class_name(), " does not support");
}

std::vector<Variable> Module::in_compute_dtype(const std::vector<Variable>& inputs) const {
  std::vector<Variable> result;
  for (const Variable& input : inputs) result.push_back(in_compute_dtype(input));
  return result;
}

Variable Module::join(const std::vector<Variable>& inputs, const Context&) {
  throw Error(cat("[", label(), "] takes one input, got ", inputs.size()));
}

void Module::begin_call(std::span<const Variable> inputs, const Context& context) {
  if (context.trace != nullptr) {
    enter(inputs, context);
  } else if (!built_) {
    enter_late(inputs, context);
  }
}

/// A call within a dry run. What the net only knows has its weights from elsewhere, or has none and may be
/// gone when the call returns.
void Module::enter(std::span<const Variable> inputs, const Context& context) {
  const bool is_part = &root() == &context.trace->net->root();
  if (!built_) {
    make_weights(inputs, context);
    if (!is_part) require_no_weights();
  }
  if (!is_part && parameters_.empty()) return;
  if (context.trace->reached.insert(this).second) context.trace->order.push_back(this);
}

void Module::require_no_weights() {
  if (parameters_.empty()) return;
  built_ = false;  // it may become a part and be built again
  parameters_.clear();
  throw Error(cat("[", label(),
                  "] has weights, but is called by a net that it is not a part of: make it a member "
                  "there and name it with add_module"));
}

/// The first call, outside a dry run.
void Module::enter_late(std::span<const Variable> inputs, const Context& context) {
  const Variable& x = inputs.front();
  for (const Module* above = parent_; above != nullptr; above = above->parent_)
    require(!above->building_, "[", label(), "] was called without a context inside forward(): pass it on");
  const Module& top = root();
  if (top.built_ && &top != this) {
    make_weights(inputs, context);
    require(parameters_.empty(), "[", label(),
            "] was not reached when the net was built (a dry run in inference mode), so its weights are not "
            "among the net's; call its build(input shape) before the net's");
    return;
  }
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) shapes.push_back(input.shape().tail(1));
  dry_run(shapes, {.seed = context.seed, .dtype = x.dtype(), .backend = &x.value().backend()});
}

void Module::make_weights(std::span<const Variable> inputs, const Context& context) {
  const Variable& x = inputs.front();
  // Of bf16 only what is computed is made: weights that small steps are added to need more digits.
  const DType dtype = x.dtype() == DType::bf16 ? DType::f32 : x.dtype();
  build_weights_for(inputs, {.seed = context.seed,
                             .dtype = dtype,
                             .backend = &x.value().backend(),
                             .draws = context.trace == nullptr || context.trace->draws});
  input_shape_ = x.shape().tail(1);
  built_ = true;
}

void Module::build(const Shape& input_shape, BuildOptions options) {
  if (built_) {
    require(input_shape == input_shape_, "[", label(), "] was built for inputs of shape ", input_shape_,
            " and cannot be built for ", input_shape);
    return;
  }
  const DType computed = options.compute_dtype.value_or(options.dtype);
  require<UsageError>(computed == options.dtype || (computed == DType::bf16 && options.dtype == DType::f32),
                      "[", label(), "] cannot compute in ", computed, " with weights in ", options.dtype,
                      "; bf16 with f32 is the one mixture");
  dry_run({input_shape}, options);
}

void Module::dry_run(const std::vector<Shape>& inputs, const BuildOptions& options) {
  std::vector<Module*> all;
  collect(all);
  std::erase_if(all, [](const Module* module) { return module->built_; });
  for (Module* module : all) module->compute_dtype_ = options.compute_dtype;

  std::vector<Variable> zeros;
  for (const Shape& shape : inputs) {
    Shape batch{1};
    for (const std::int64_t extent : shape) batch.push_back(extent);
    zeros.emplace_back(Tensor::zeros(batch, {.dtype = options.dtype, .backend = options.backend}));
  }
  BuildTrace trace{.net = this, .draws = options.draws};
  const Context context{.training = false, .seed = options.seed, .trace = &trace};
  const NoGrad no_grad;
  building_ = true;
  try {
    if (zeros.size() == 1)
      (*this)(zeros.front(), context);
    else
      (*this)(zeros, context);
  } catch (...) {
    // As if it had not been tried: what this run built goes, what was there before stays.
    building_ = false;
    for (Module* module : all) {
      if (!module->built_) continue;
      module->built_ = false;
      module->parameters_.clear();
    }
    throw;
  }
  building_ = false;
  execution_order_ = std::move(trace.order);
}

void Module::build_weights(const Shape&, const BuildOptions&) {}

void Module::build_weights_for(std::span<const Variable> inputs, const BuildOptions& options) {
  build_weights(inputs.front().shape(), options);
}

// --- weights

Variable Module::add_weight(Parameter parameter, const Shape& shape, const Initializer& initializer,
                            const BuildOptions& options) {
  parameter.variable = Variable::parameter(initializer.make(shape, full_name(parameter.name), options,
                                                            parameter.layout, parameter.depth_multiplier));
  return add_parameter(std::move(parameter));
}

Variable Module::add_parameter(Parameter parameter) {
  for (const Parameter& other : parameters_)
    require(other.name != parameter.name, "[", label(), "] already has a weight \"", other.name, "\"");
  parameter.variable.set_requires_grad(parameter.trainable && trainable_);
  parameters_.push_back(std::move(parameter));
  return parameters_.back().variable;
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Module*> modules = execution_order_, all;
  const_cast<Module*>(this)->collect(all);
  const std::set<const Module*> reached(modules.begin(), modules.end());
  std::copy_if(all.begin(), all.end(), std::back_inserter(modules),
               [&](const Module* module) { return !reached.contains(module); });
  std::vector<Parameter> result;
  for (const Module* module : modules) {
    for (const bool trainable : {true, false}) {
      for (const Parameter& parameter : module->parameters_) {
        if (parameter.trainable != trainable) continue;
        result.push_back(parameter);
        result.back().name = module->full_name(parameter.name);
      }
    }
  }
  return result;
}

std::int64_t Module::parameter_count(bool trainable_only) const {
  std::int64_t count = 0;
  for (const Parameter& parameter : parameters())
    if (!trainable_only || parameter.variable.requires_grad()) count += parameter.variable.value().count();
  return count;
}

void Module::set_own_trainable(bool trainable) {
  trainable_ = trainable;
  for (Parameter& parameter : parameters_)
    if (parameter.trainable) parameter.variable.set_requires_grad(trainable);
}

void Module::set_trainable(bool trainable) {
  set_own_trainable(trainable);
  for (const Child& child : children_) child.module->set_trainable(trainable);
}

// --- children and names

void Module::add_module(std::string name, Module& child) {
  adopt(name, child);
  children_.push_back({&child, nullptr});
}

Module& Module::add_module(std::string name, std::unique_ptr<Module> child) {
  require(child != nullptr, "[", label(), "] child \"", name, "\" is a null pointer");
  adopt(name, *child);
  children_.push_back({child.get(), std::move(child)});
  return *children_.back().module;
}

void Module::adopt(const std::string& name, Module& child) {
  require(child.parent_ == nullptr && &child != this, "[", label(), "] cannot take \"", name,
          "\": it is a part of another module");
  require_free_name(name, nullptr);
  child.parent_ = this;
  child.name_ = name;
  child_named_.emplace(name, &child);
  ++children_of_class_[child.class_name()];
  child.update_paths();
}

void Module::set_name(const std::string& name) {
  if (parent_ != nullptr) {
    parent_->require_free_name(name, this);
    parent_->child_named_.erase(name_);
    parent_->child_named_.emplace(name, this);
  } else {
    require(!name.empty() && name.find('/') == std::string::npos, "[", label(), "] cannot be named \"", name,
            "\": a name is not empty and has no '/'");
  }
  name_ = name;
  update_paths();
}

/// `name` may be given to a child; `owner` is the child that may have it already.
void Module::require_free_name(const std::string& name, const Module* owner) const {
  require(!name.empty() && name.find('/') == std::string::npos, "[", label(), "] cannot name a child \"",
          name, "\": a name is not empty and has no '/'");
  const auto found = child_named_.find(name);
  require(found == child_named_.end() || found->second == owner, "[", label(), "] has two children named \"",
          name, "\"");
}

std::string Module::name_for(const Module& layer) const {
  if (!layer.name().empty()) return layer.name();
  const std::string base = snake_case(layer.class_name());
  const auto found = children_of_class_.find(layer.class_name());
  int number = found == children_of_class_.end() ? 0 : found->second;
  std::string name = number == 0 ? base : cat(base, '_', number);
  while (child_named_.contains(name)) name = cat(base, '_', ++number);
  return name;
}

void Module::update_paths() {
  if (parent_ != nullptr) path_ = parent_->path_.empty() ? name_ : cat(parent_->path_, '/', name_);
  for (const Child& child : children_) child.module->update_paths();
}

std::vector<Module*> Module::children() const {
  std::vector<Module*> result;
  for (const Child& child : children_) result.push_back(child.module);
  return result;
}

/// Appends this module and everything below it.
void Module::collect(std::vector<Module*>& modules) {
  modules.push_back(this);
  for (const Child& child : children_) child.module->collect(modules);
}

const Module& Module::root() const {
  const Module* module = this;
  while (module->parent_ != nullptr) module = module->parent_;
  return *module;
}

std::string Module::label() const {
  if (!path_.empty()) return path_;
  return name_.empty() ? snake_case(class_name()) : name_;
}

std::string Module::full_name(const std::string& weight) const {
  return path_.empty() ? weight : cat(path_, '/', weight);
}

}  // namespace ronde::inline v0
