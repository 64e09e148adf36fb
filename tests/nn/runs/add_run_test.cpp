#include "nn/relu_nets.h"

namespace ronde::test {
namespace {

TEST(AddRun, GivesTheBitsOfItsLayers) {
  for (const Backend* each : backends())
    for (const auto& [dtype, compute_dtype] :
         {std::pair(DType::f32, std::optional<DType>()), std::pair(DType::f32, std::optional(DType::bf16)),
          std::pair(DType::f64, std::optional<DType>())}) {
      const BuildOptions options{
          .dtype = dtype, .backend = &backend(each->name()), .compute_dtype = compute_dtype};
      EXPECT_EQ(numbers_of(*add_relu_graph<ReLU>(), options, 5),
                numbers_of(*add_relu_graph<OwnRelu>(), options, 5));
    }
}

TEST(AddRun, SaysWhatDoesNotFit) {
  Add add;
  EXPECT_EQ(message_of([&] {
              add.join_with_relu(random_tensor({2, 3}), random_tensor({2, 4}));
            }),
            "[add] cannot merge inputs of shapes (2, 3) and (2, 4)");
}

}  // namespace
}  // namespace ronde::test
