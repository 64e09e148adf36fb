#include "backend/onednn/conv_primitive.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include <ronde/core/error.h>

#include "backend/onednn/single_threaded.h"

namespace ronde::inline v0 {

namespace {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;
constexpr auto kFloat = dnnl::memory::data_type::f32;

struct ConvArgs {
  Desc x, weight, bias, out;
  Dims stride, dilation, low, high;
};

dnnl::primitive_attr with_our_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

/// What a primitive is made from: oneDNN 2 describes the operation in an object of its own, oneDNN 3 at once.
template <class Primitive, class... Hints, class... Operation>
typename Primitive::primitive_desc describe(const dnnl::engine& engine, const std::tuple<Hints...>& hints,
                                            const Operation&... operation) {
  const dnnl::primitive_attr attributes = with_our_scratchpad();
  return std::apply(
      [&](const auto&... hint) -> typename Primitive::primitive_desc {
        if constexpr (requires { typename Primitive::desc; })
          return {typename Primitive::desc(operation...), attributes, engine, hint...};
        else
          return {engine, operation..., hint..., attributes};
      },
      hints);
}

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

dnnl::convolution_forward::primitive_desc describe_forward(const dnnl::engine& engine, const ConvArgs& a,
                                                           bool has_bias) {
  using Forward = dnnl::convolution_forward;
  constexpr auto kTraining = dnnl::prop_kind::forward_training;
  if (has_bias)
    return describe<Forward>(engine, std::tuple(), kTraining, kDirect, a.x, a.weight, a.bias, a.out, a.stride,
                             a.dilation, a.low, a.high);
  return describe<Forward>(engine, std::tuple(), kTraining, kDirect, a.x, a.weight, a.out, a.stride,
                           a.dilation, a.low, a.high);
}

dnnl::convolution_backward_data::primitive_desc describe_backward_input(const dnnl::engine& engine,
                                                                        const ConvArgs& a) {
  return describe<dnnl::convolution_backward_data>(engine, std::tuple(describe_forward(engine, a, false)),
                                                   kDirect, a.x, a.weight, a.out, a.stride, a.dilation, a.low,
                                                   a.high);
}

dnnl::convolution_backward_weights::primitive_desc describe_backward_weight(const dnnl::engine& engine,
                                                                            const ConvArgs& a,
                                                                            bool has_bias) {
  using Backward = dnnl::convolution_backward_weights;
  const std::tuple forward(describe_forward(engine, a, has_bias));
  if (has_bias)
    return describe<Backward>(engine, forward, kDirect, a.x, a.weight, a.bias, a.out, a.stride, a.dilation,
                              a.low, a.high);
  return describe<Backward>(engine, forward, kDirect, a.x, a.weight, a.out, a.stride, a.dilation, a.low,
                            a.high);
}

// Our OHWI weights, group by group, in oneDNN's order of dimensions.
Desc plain_weight(const ConvProblem& p) {
  const std::int64_t g = p.params.groups, c = p.c / g, o = p.o / g;
  const Dims strides{p.kh * p.kw * c, 1, p.kw * c, c};
  if (g == 1) return Desc({o, c, p.kh, p.kw}, kFloat, strides);
  return Desc({g, o, c, p.kh, p.kw}, kFloat, {o * strides[0], strides[0], 1, strides[2], strides[3]});
}

ConvArgs arguments_of(const ConvProblem& p, const Desc* packed) {
  const std::int64_t g = p.params.groups;
  Dims weight{p.o / g, p.c / g, p.kh, p.kw};
  if (g > 1) weight.insert(weight.begin(), g);
  const Padding2d& pad = p.params.padding;
  return {Desc({p.n, p.c, p.h, p.w}, kFloat, Tag::nhwc),
          packed ? *packed : Desc(weight, kFloat, Tag::any),
          Desc({p.o}, kFloat, Tag::x),
          Desc({p.n, p.o, p.oh, p.ow}, kFloat, Tag::nhwc),
          {p.params.stride.h, p.params.stride.w},
          {p.params.dilation.h - 1, p.params.dilation.w - 1},
          {pad.top, pad.left},
          {pad.bottom, pad.right}};
}

/// What a primitive computes in. It has a fence behind it, since a version of oneDNN that writes too far
/// would ruin other memory without a word: see Note [Picked pixels].
class Scratchpad {
 public:
  Scratchpad(const Desc& desc, const dnnl::engine& engine)
      : size_((desc.get_size() + sizeof(Line) - 1) / sizeof(Line)),
        lines_(size_ + kFence, Line{}),
        memory_(desc, engine, lines_.data()) {}

  dnnl_memory_t get() const { return memory_.get(); }
  bool is_kept_within() const { return lines_[size_] == Line{}; }

 private:
  struct alignas(64) Line {
    std::array<std::uint64_t, 8> words{0x5af3107a4000};
    bool operator==(const Line&) const = default;
  };
  static constexpr std::size_t kFence = 64;

  std::size_t size_;
  std::vector<Line> lines_;
  dnnl::memory memory_;
};

dnnl::memory hollow(const Desc& desc, const dnnl::engine& engine) {
  return dnnl::memory(desc, engine, nullptr);
}

}  // namespace

bool ConvProblem::picks_pixels() const {
  return kh == 1 && kw == 1 && !(params.stride == Size2d{}) && params.padding == Padding2d{};
}

ConvProblem::Key ConvProblem::key() const {
  const Padding2d& pad = params.padding;
  return {static_cast<std::int64_t>(pass),
          n,
          h,
          w,
          c,
          oh,
          ow,
          o,
          kh,
          kw,
          params.stride.h,
          params.stride.w,
          pad.top,
          pad.bottom,
          pad.left,
          pad.right,
          params.dilation.h,
          params.dilation.w,
          params.groups,
          has_bias};
}

struct ConvPrimitive::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::primitive primitive;
  bool fast = false;
  std::string problem;
  Desc plain, packed;
  dnnl::memory x, weight, bias, out;
  std::optional<Scratchpad> scratchpad;
  std::vector<dnnl_exec_arg_t> arguments;
  // Between plain and packed weights, in the direction that the pass needs.
  std::optional<dnnl::reorder> reorder;
  dnnl::memory reorder_from, reorder_to;
  std::array<dnnl_exec_arg_t, 2> reorder_arguments{};

  template <class PrimitiveDesc>
  void take(const PrimitiveDesc& desc, const Desc& weight_desc) {
    fast = std::string_view(desc.impl_info_str()).find("ref") == std::string_view::npos;
    packed = weight_desc;
    scratchpad.emplace(desc.scratchpad_desc(), engine);
    if (fast) primitive = dnnl::primitive(desc.get());
  }

  void prepare_reorder(bool packs) {
    if (packed == plain) return;
    const Desc &from = packs ? plain : packed, &to = packs ? packed : plain;
    reorder_from = hollow(from, engine);
    reorder_to = hollow(to, engine);
    reorder = dnnl::reorder(dnnl::reorder::primitive_desc(engine, from, engine, to));
    reorder_arguments = {dnnl_exec_arg_t{DNNL_ARG_FROM, reorder_from.get()},
                         dnnl_exec_arg_t{DNNL_ARG_TO, reorder_to.get()}};
  }

  void convert(float* to, const float* from, std::size_t plain_bytes) {
    if (!reorder) {
      std::memcpy(to, from, plain_bytes);
      return;
    }
    const SingleThreaded single;
    reorder_from.set_data_handle(const_cast<float*>(from));
    reorder_to.set_data_handle(to);
    execute(*reorder, reorder_arguments.data(), 2);
  }

  void execute(const dnnl::primitive& what, const dnnl_exec_arg_t* arguments_of_it, int count) {
    const dnnl_status_t status = dnnl_primitive_execute(what.get(), stream.get(), count, arguments_of_it);
    require(status == dnnl_success, "[conv2d] oneDNN failed with status ", static_cast<int>(status));
  }
};

ConvPrimitive::ConvPrimitive(const ConvProblem& p, const ConvPrimitive* packed_like)
    : state_(std::make_unique<State>()) {
  const SingleThreaded single;
  State& s = *state_;
  if (p.pass == ConvPass::backward_weight && p.picks_pixels()) return;  // Note [Picked pixels]
  const ConvArgs args = arguments_of(p, packed_like ? &packed_like->state_->packed : nullptr);
  s.plain = plain_weight(p);
  s.problem = cat("filters (", p.o, ", ", p.kh, ", ", p.kw, ", ", p.c / p.params.groups, "), stride ",
                  p.params.stride.h, " x ", p.params.stride.w, ", pass ", static_cast<int>(p.pass));
  try {
    if (p.pass == ConvPass::forward) {
      const auto desc = describe_forward(s.engine, args, p.has_bias);
      s.take(desc, desc.weights_desc());
    } else if (p.pass == ConvPass::backward_input) {
      const auto desc = describe_backward_input(s.engine, args);
      s.take(desc, desc.weights_desc());
    } else {
      const auto desc = describe_backward_weight(s.engine, args, p.has_bias);
      s.take(desc, desc.diff_weights_desc());
    }
    if (!s.fast) return;
    s.prepare_reorder(p.pass != ConvPass::backward_weight);
  } catch (const dnnl::error&) {
    s.fast = false;  // oneDNN does not know the shape
    return;
  }
  s.x = hollow(args.x, s.engine);
  s.weight = hollow(s.packed, s.engine);
  s.bias = hollow(args.bias, s.engine);
  s.out = hollow(args.out, s.engine);
  const bool forward = p.pass == ConvPass::forward, weights = p.pass == ConvPass::backward_weight;
  s.arguments = {{forward || weights ? DNNL_ARG_SRC : DNNL_ARG_DIFF_SRC, s.x.get()},
                 {weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, s.weight.get()},
                 {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, s.out.get()},
                 {DNNL_ARG_SCRATCHPAD, s.scratchpad->get()}};
  if (p.has_bias) s.arguments.push_back({weights ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, s.bias.get()});
}

ConvPrimitive::~ConvPrimitive() = default;

bool ConvPrimitive::is_fast() const {
  return state_->fast;
}

std::int64_t ConvPrimitive::packed_count() const {
  return static_cast<std::int64_t>(state_->packed.get_size() / sizeof(float));
}

void ConvPrimitive::pack(float* packed, const float* plain) {
  state_->convert(packed, plain, state_->plain.get_size());
}

void ConvPrimitive::unpack(float* plain, const float* packed) {
  state_->convert(plain, packed, state_->plain.get_size());
}

void ConvPrimitive::run(float* x, float* packed_weight, float* bias, float* out) {
  State& s = *state_;
  const SingleThreaded single;
  s.x.set_data_handle(x);
  s.weight.set_data_handle(packed_weight);
  s.bias.set_data_handle(bias);
  s.out.set_data_handle(out);
  s.execute(s.primitive, s.arguments.data(), static_cast<int>(s.arguments.size()));
  require(s.scratchpad->is_kept_within(), "[conv2d] oneDNN wrote behind its scratchpad, ", s.problem,
          ": RONDE_BACKEND=cpu computes without oneDNN");
}

ConvCache::Lease ConvCache::take(const ConvProblem& problem, const Lease* packed_like) {
  const ConvProblem::Key shape = problem.key();
  const Key key{shape, packed_like ? packed_like->key().problem : shape};
  const ConvPrimitive* layout = key.packed_for == shape ? nullptr : &**packed_like;
  {
    const std::lock_guard lock(mutex_);
    if (free_.size() > kMaxShapes) free_.clear();
    auto& ready = free_[key];
    if (!ready.empty()) {
      std::unique_ptr<ConvPrimitive> primitive = std::move(ready.back());
      ready.pop_back();
      return Lease(*this, key, std::move(primitive));
    }
  }
  return Lease(*this, key, std::make_unique<ConvPrimitive>(problem, layout));
}

void ConvCache::give_back(const Key& key, std::unique_ptr<ConvPrimitive> primitive) noexcept {
  const std::lock_guard lock(mutex_);
  free_[key].push_back(std::move(primitive));
}

}  // namespace ronde::inline v0
