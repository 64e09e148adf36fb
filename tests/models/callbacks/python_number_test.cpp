#include "callbacks/python_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace ronde {
namespace {

// Right-hand sides are what Python's repr gives.
TEST(PythonNumber, IsRepr) {
  EXPECT_EQ(python_number(0.0), "0.0");
  EXPECT_EQ(python_number(-0.0), "-0.0");
  EXPECT_EQ(python_number(1.0), "1.0");
  EXPECT_EQ(python_number(0.1), "0.1");
  EXPECT_EQ(python_number(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(python_number(1e-4), "0.0001");
  EXPECT_EQ(python_number(0.00012345), "0.00012345");
  EXPECT_EQ(python_number(9.999e-5), "9.999e-05");
  EXPECT_EQ(python_number(1e-5), "1e-05");
  EXPECT_EQ(python_number(-1.5e-300), "-1.5e-300");
  EXPECT_EQ(python_number(123456.0), "123456.0");
  EXPECT_EQ(python_number(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(python_number(1e16), "1e+16");
  EXPECT_EQ(python_number(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(python_number(5e-324), "5e-324");
  EXPECT_EQ(python_number(std::nan("")), "nan");
  EXPECT_EQ(python_number(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(python_number(-std::numeric_limits<double>::infinity()), "-inf");
}

}  // namespace
}  // namespace ronde
