#include <gtest/gtest.h>

#include <ronde/core/error.h>
#include <ronde/data/csv.h>

#include "data/testing.h"
#include "support/make_idx.h"
#include "support/temp_dir.h"

namespace ronde {
namespace {

using namespace test;

class Csv : public ::testing::Test {
 protected:
  InMemoryDataset load(const Bytes& text, const CsvOptions& options = {}) const {
    write_bytes(path(), text);
    return load_csv(path(), options);
  }
  void expect_refused(const Bytes& text, const std::string& part, const CsvOptions& options = {}) const {
    expect_error<InputError>([&] { load(text, options); }, {"data: " + path() + part});
  }
  std::string path() const { return dir_ / "table.csv"; }
  TempDir dir_;
};

void expect_table(const InMemoryDataset& data, const std::vector<int>& labels,
                  const std::vector<double>& inputs) {
  EXPECT_EQ(data.targets().to_vector<int>(), labels);
  EXPECT_EQ(data.inputs().to_vector<double>(), inputs);
}

TEST_F(Csv, HasItsLabelFirstUnlessToldOtherwise) {
  expect_table(load("5,0,255\n3,7,8\n"), {5, 3}, {0, 255, 7, 8});
  expect_table(load("0,255,5\n7,8,3\n", {.label_column = "last"}), {5, 3}, {0, 255, 7, 8});
  expect_table(load("0,5,255\n7,3,8\n", {.label_column = "first"}), {0, 7}, {5, 255, 3, 8});
}

TEST_F(Csv, MayHaveAHeader) {
  expect_table(load("a,label,b\n1,2,3\n"), {2}, {1, 3});
  expect_table(load("a,b,class\n1,2,3\n"), {1}, {2, 3});
  expect_table(load("label,0,1\n1,2,3\n"), {1}, {2, 3});
  expect_table(load("nan,a\n1,2\n"), {1}, {2});
  expect_table(load("a,b,class\n1,2,3\n", {.label_column = "class"}), {3}, {1, 2});
  expect_table(load("\xef\xbb\xbf\"label\",\"x, y\"\n\"1\",\"2\"\n"), {1}, {2});
  expect_refused("a,b\n1,2\n", ":1: no column is named \"digit\": the first line is \"a,b\"",
                 {.label_column = "digit"});
  expect_refused("1,2\n", ":1: no column is named \"digit\"", {.label_column = "digit"});
}

TEST_F(Csv, MayBeWrittenInManyWays) {
  expect_table(load("1;2;3\r\n\r\n4;5;6", {.delimiter = ';'}), {1, 4}, {2, 3, 5, 6});
  expect_table(load("1\t2\t3\n", {.delimiter = '\t'}), {1}, {2, 3});
  expect_table(load(" 1, 2 ,3 \n\n  \n4,+5,0006\n\n"), {1, 4}, {2, 3, 5, 6});
  expect_table(load("1.0,1e2\n"), {1}, {100});
  expect_table(load("1,3.4028235e38\n"), {1}, {std::numeric_limits<float>::max()});  // as NumPy writes it
  expect_table(load(gzip("1,2,3\n4,5,6\n")), {1, 4}, {2, 3, 5, 6});
  expect_table(load(gzip("1,2,3\n4,") + gzip("5,6\n")), {1, 4}, {2, 3, 5, 6});
}

TEST_F(Csv, KeepsBytesAsBytes) {
  EXPECT_EQ(load("1,0,255\n2,7,8\n").inputs().dtype(), DType::u8);
  for (const char* odd : {"256", "-1", "0.5", "1e3"}) {
    const InMemoryDataset data = load("1,0,255\n2,7," + std::string(odd) + "\n3,1,2\n");
    EXPECT_EQ(data.inputs().dtype(), DType::f32);
    expect_table(data, {1, 2, 3}, {0, 255, 7, std::stod(odd), 1, 2});
  }
}

TEST_F(Csv, MakesImages) {
  const InMemoryDataset data =
      load("3,0,51,102,153,204,255\n",
           {.image_shape = {2, 3, 1}, .scale = 1.0 / 255, .class_names = {"a", "b", "c", "d"}});
  EXPECT_EQ(data.input_shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(data.class_names().size(), 4u);
  const auto [inputs, targets] = read_samples(data, {0});
  EXPECT_EQ(inputs.to_vector<float>(), (std::vector<float>{0.0f, 0.2f, 0.4f, 0.6f, 0.8f, 1.0f}));
  EXPECT_EQ(targets.item(), 3);
  expect_refused("3,0,1\n", ":1: 2 columns beside the label, expected 6 for (2, 3, 1)",
                 {.image_shape = {2, 3, 1}});
}

TEST_F(Csv, IsReadAcrossItsBuffer) {
  Bytes text;
  std::vector<int> labels;
  std::vector<double> inputs;
  for (int row = 0; row < 60'000; ++row) {
    const int value = row * 37 % 256;
    text += cat(row % 10, ",", value, ",12,255,", 255 - value, ",0\n");
    labels.push_back(row % 10);
    for (const double x : {value, 12, 255, 255 - value, 0}) inputs.push_back(x);
  }
  ASSERT_GT(text.size(), 1u << 20);
  expect_table(load(text), labels, inputs);
  Bytes wide = "1";
  for (int i = 0; i < 500'000; ++i) wide += ",200";
  EXPECT_EQ(load(wide).input_shape(), (Shape{500'000}));
}

TEST_F(Csv, ThatIsWrongIsNamedWithItsLine) {
  expect_refused("", ": empty, expected lines of numbers");
  for (const char* first : {"1,,3", "1,nan,3", "1,NaN,3", "1, ,-inf", ",0,1"})
    expect_refused(cat(first, "\n4,5,6\n"), ":1: numbers beside fields that are empty or no number");
  expect_refused("label,a\n", ": holds a header and no lines of numbers");
  expect_refused("1\n2\n", ":1: 1 column, expected a label and at least one input, separated by ','");
  expect_refused("1,2,3\n1,2\n", ":2: 2 columns, expected 3 as in the first line");
  expect_refused("1,2,3\n\n1,2,3,4,5\n", ":3: 5 columns, expected 3 as in the first line");
  expect_refused("1,2\n3,x7\n", ":2: column 2 is \"x7\", expected a number");
  expect_refused("label,pixel1\n3,1\n4,\n", ":3: column 2 (pixel1) is \"\", expected a number");
  expect_refused("1,2\n1,nan\n", ":2: column 2 is \"nan\", expected a number");
  expect_refused("1,2\n1,-1e39\n", ":2: column 2 is -1e+39, more than a float32 holds");
  expect_refused("1,2\n1,3.4028236e38\n", ":2: column 2 is 3.4028236e+38, more than a float32 holds");
  expect_refused("1,2\n1,1e999\n", ":2: column 2 is \"1e999\", expected a number");
  expect_refused("1,2\n-1,2\n", ":2: column 1 is -1, expected the number of a class from 0 on");
  expect_refused("1,2\n1.5,2\n", ":2: column 1 is 1.5, expected the number of a class from 0 on");
  expect_refused("1,2\n2,2\n", ":2: column 1 is 2, expected one of 2 classes from 0 on",
                 {.class_names = {"a", "b"}});
  expect_refused("1,2,3\n1,2,3\n", ":2: the inputs so far take more than the 3 bytes allowed",
                 {.max_bytes = 3});
  expect_refused("1,0.5,3\n1,2,3\n", ":2: the inputs so far take more than the 15 bytes allowed",
                 {.max_bytes = 15});
  expect_refused("1,2\n3000000000,2\n",
                 ":2: column 1 is 3e+09, expected the number of a class from 0 on");
  expect_refused("1,2\n1,\n", ":2: column 2 is \"\", expected a number");
  expect_error<IoError>([&] { load_csv(dir_ / "none.csv"); }, {dir_ / "none.csv", "No such file"});
}

}  // namespace
}  // namespace ronde
