#include <ronde/core/ops.h>
#include <ronde/models/view_outputs.h>

namespace ronde::inline v0 {

Variable view_outputs(Module& net, const Tensor& inputs, const std::vector<TestTimeView>& views,
                      const Context& context) {
  if (views.empty()) return net(inputs, context);
  double weights = 0.0;
  for (const TestTimeView& view : views) weights += view.weight;
  require<UsageError>(weights > 0.0,
                      "[view_outputs] the weights of the views must add up to more than 0, got ", weights);
  Variable total;
  bool is_softmax = false;
  for (const TestTimeView& view : views) {
    const Tensor seen = view_images(inputs, view).to(inputs.backend());
    const Variable output = net(seen, context);
    require<UsageError>(!output.mask().defined(),
                        "[view_outputs] views are of images, and these outputs have a mask");
    const Variable logits = softmax_input(output);
    is_softmax = logits.defined();
    const Variable part = (is_softmax ? logits : output) * (view.weight / weights);
    total = total.defined() ? total + part : part;
  }
  return is_softmax ? softmax(total) : total;
}

}  // namespace ronde::inline v0
