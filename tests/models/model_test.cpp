#include <gtest/gtest.h>

#include <ronde/models/cifar10_cnn.h>
#include <ronde/models/mnist_cnn.h>
#include <ronde/nn/batch_normalization.h>
#include <ronde/nn/global_average_pooling2d.h>

#include "models/testing.h"

namespace ronde::testing {
namespace {

TEST(Zoo, HasTheParametersOfTheTutorials) {
  for (const MnistCnn variant : {MnistCnn::keras, MnistCnn::tf2}) {
    const auto net = mnist_cnn(variant);
    net->build({28, 28, 1});
    EXPECT_EQ(net->parameter_count(), 1199882);
    EXPECT_EQ(net->output_shape(), (Shape{1, 10}));
  }
  const auto estimator = mnist_cnn(MnistCnn::estimator);
  estimator->build({28, 28, 1});
  EXPECT_EQ(estimator->parameter_count(), 320 + 18496 + 1600 * 128 + 128 + 1290);
  const auto cifar = cifar10_cnn();
  cifar->build({32, 32, 3});
  EXPECT_EQ(cifar->parameter_count(), 1250858);
}

// Keras 2.15's text for this net.
TEST(Summary, IsKerasTable) {
  const Model model(std::make_unique<Sequential>(Conv2D({.filters = 32, .activation = Activation::relu}),
                                                 Conv2D({.filters = 64, .activation = Activation::relu}),
                                                 MaxPooling2D(), Dropout(0.25), BatchNormalization(),
                                                 GlobalAveragePooling2D(), Dense({.units = 10})),
                    {28, 28, 1});
  EXPECT_EQ(model.summary(),
            "Model: \"sequential\"\n"
            "_________________________________________________________________\n"
            " Layer (type)                Output Shape              Param #   \n"
            "=================================================================\n"
            " conv2d (Conv2D)             (None, 26, 26, 32)        320       \n"
            "                                                                 \n"
            " conv2d_1 (Conv2D)           (None, 24, 24, 64)        18496     \n"
            "                                                                 \n"
            " max_pooling2d (MaxPooling2  (None, 12, 12, 64)        0         \n"
            " D)                                                              \n"
            "                                                                 \n"
            " dropout (Dropout)           (None, 12, 12, 64)        0         \n"
            "                                                                 \n"
            " batch_normalization (Batch  (None, 12, 12, 64)        256       \n"
            " Normalization)                                                  \n"
            "                                                                 \n"
            " global_average_pooling2d (  (None, 64)                0         \n"
            " GlobalAveragePooling2D)                                         \n"
            "                                                                 \n"
            " dense (Dense)               (None, 10)                650       \n"
            "                                                                 \n"
            "=================================================================\n"
            "Total params: 19722 (77.04 KB)\n"
            "Trainable params: 19594 (76.54 KB)\n"
            "Non-trainable params: 128 (512.00 Byte)\n"
            "_________________________________________________________________\n");
}

// Computed with Python: hashlib over sorted names, NUL, and the bytes that h5py reads from the file.
TEST(WeightsSha256, IsOverKerasLayoutInNameOrder) {
  EXPECT_EQ(Model::load(golden("batchnorm_net_keras2.15.0.h5")).weights_sha256(),
            "0bd95388f6d1504f79833476753ecab84bf7f5b98add342dfc379f8a8826493b");
  EXPECT_EQ(Model::load(golden("mnist_cnn_keras2.15.0.h5")).weights_sha256(),
            "6ba014079591e62db8aa503c87c1a4a4ee8ee4c2bb02059a0674a3de13c125d5");
}

TEST(Logs, KeepOrderAndReplace) {
  Logs logs;
  logs.set("loss", 1);
  logs.set("accuracy", 2);
  logs.set("loss", 3);
  ASSERT_EQ(logs.entries().size(), 2u);
  EXPECT_EQ(logs.entries()[0].first, "loss");
  EXPECT_EQ(*logs.find("loss"), 3);
  EXPECT_EQ(logs.find("none"), nullptr);
}

}  // namespace
}  // namespace ronde::testing
