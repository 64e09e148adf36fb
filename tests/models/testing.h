/// Small nets and data sets for the tests of models.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include <ronde/core/backend.h>
#include <ronde/data/in_memory_dataset.h>
#include <ronde/models/model.h>
#include <ronde/nn/adam.h>
#include <ronde/nn/conv2d.h>
#include <ronde/nn/dense.h>
#include <ronde/nn/dropout.h>
#include <ronde/nn/flatten.h>
#include <ronde/nn/max_pooling2d.h>
#include <ronde/nn/sequential.h>
#include <ronde/nn/sgd.h>

#include "support/message_of.h"

namespace ronde::test {

std::string golden(const std::string& name);

/// Images (6, 6, 1) whose class (0, 1, 2) shows in their brightness.
InMemoryDataset small_images(std::int64_t count, int shift = 0);

/// 4 * 9 + 4 + 16 * 3 + 3 = 91 weights.
std::unique_ptr<Sequential> small_net();

CompileOptions small_compile(double rate = 0.01);

Model small_model(ModelOptions options = {});

/// Of the elements of two tensors, which should have the same shape.
double largest_difference(const Tensor& a, const Tensor& b);

/// What is written to stdout while `f` runs.
std::string printed(const std::function<void()>& f);

}  // namespace ronde::test
