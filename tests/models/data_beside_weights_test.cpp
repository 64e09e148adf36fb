// What is read from files lies where new tensors do: a net and a loss take it as it is.
#include <ronde/core/backend.h>
#include <ronde/core/ops.h>
#include <ronde/data/cifar10.h>
#include <ronde/data/csv.h>
#include <ronde/data/image_file.h>
#include <ronde/data/mnist.h>
#include <ronde/data/npz.h>
#include <ronde/data/test_time_views.h>

#include "models/testing.h"
#include "support/make_cifar10.h"
#include "support/temp_dir.h"

namespace ronde::test {
namespace {

/// The gradient of a net's loss over the first samples.
double step_on(const InMemoryDataset& data) {
  Sequential net(Flatten(), Dense({.units = 10}));
  net.build(data.input_shape(), {.seed = 1});
  const Variable logits = net(data.inputs().slice(0, 0, 4).to(DType::f32));
  const Variable loss = sum(softmax_cross_entropy(logits, data.targets().slice(0, 0, 4)));
  loss.backward();
  return sum(square(net.parameters().front().variable.grad())).item();
}

TEST(DataBesideWeights, NetsAndLossesTakeWhatADataSetHolds) {
  const TempDir dir(memory_directory());
  make_mnist(dir.path(), {.train = 20, .test = 10});
  EXPECT_GT(step_on(load_mnist({.directory = dir.path()}).test), 0.0);
  make_cifar10(dir.path(), {.images_per_file = 4});
  EXPECT_GT(step_on(load_cifar10({.directory = dir.path()}).test), 0.0);
  write_bytes(dir / "table.csv", "1,2,3\n4,5,6\n0,0.5,1\n9,8,7\n");
  EXPECT_GT(step_on(load_csv(dir / "table.csv")), 0.0);
  // Labels that become i32, of tensors that the program made.
  EXPECT_GT(step_on({Tensor::full({4, 3}, 1.0), Tensor::zeros({4}, {.dtype = DType::i64})}), 0.0);
}

TEST(DataBesideWeights, ArraysAndPicturesOfFilesAreTensorsLikeOthers) {
  const Tensor ones = Tensor::full({2, 3}, 1.0);
  const auto arrays = decode_npz(encode_npz({{"a", ones}}), "a.npz");
  EXPECT_EQ((Variable(arrays.at("a")) + ones).value().to_vector<double>(), std::vector<double>(6, 2.0));

  const Tensor bytes = Tensor::full({5, 4, 1}, 7.0, {.dtype = DType::u8});
  const Tensor picture = decode_image(encode_png(bytes), "a.png", ImageChannels::rgb);
  EXPECT_EQ(&picture.backend(), &default_backend());
  EXPECT_EQ(picture.to_vector<int>(), std::vector<int>(60, 7));
  EXPECT_EQ(&resize_image(picture, 2, 2).backend(), &default_backend());
}

TEST(DataBesideWeights, ViewsOfPicturesLieWhereThesePicturesDo) {
  for (Backend* backend : backends()) {
    const Tensor pictures = Tensor::full({1, 2, 2, 1}, 1.0, {.backend = backend});
    EXPECT_EQ(&view_images(pictures, mirror_views().back()).backend(), backend) << backend->name();
  }
}

}  // namespace
}  // namespace ronde::test
