/// What a net says of several views of each picture (test-time augmentation), for evaluations of one's own;
/// `Model::evaluate` and `Model::predict` take views as an option.
#pragma once

#include <vector>

#include <ronde/data/test_time_views.h>
#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// Outputs for a batch (n, h, w, c), averaged over the views by their weights. If the net ends in a softmax
/// its inputs are averaged, and the result is their softmax. No views: net(inputs, context). Views are made
/// in host memory.
RONDE_API Variable view_outputs(Module& net, const Tensor& inputs, const std::vector<TestTimeView>& views,
                                const Context& context = {});

}  // namespace ronde::inline v0
