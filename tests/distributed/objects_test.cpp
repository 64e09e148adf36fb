#include <ronde/distributed/objects.h>

#include <limits>

#include <gtest/gtest.h>

#include "support/message_of.h"

namespace ronde::test {
namespace {

struct Point {
  short x = 0;
  double y = 0.0;
  bool operator==(const Point&) const = default;
};

// Which its program gives another form.
struct Tagged {
  int number = 0;
  bool operator==(const Tagged&) const = default;
};

}  // namespace
}  // namespace ronde::test

template <>
struct ronde::ObjectBytes<ronde::test::Tagged> {
  static void append(std::string& bytes, const test::Tagged& value) { bytes += cat('#', value.number, ';'); }
  static test::Tagged take(std::string_view& bytes) {
    const std::size_t end = bytes.find(';');
    const test::Tagged value{std::stoi(std::string(bytes.substr(1, end - 1)))};
    bytes.remove_prefix(end + 1);
    return value;
  }
};

namespace ronde::test {
namespace {

template <class T>
void expect_back(const T& value) {
  const std::string bytes = object_bytes(value);
  std::string_view left = bytes;
  EXPECT_EQ(ObjectBytes<T>::take(left), value);
  EXPECT_TRUE(left.empty());
}

TEST(Objects, ComeBackAsTheyWere) {
  expect_back(std::vector<float>{1.5f, -2.0f});
  expect_back(std::vector<float>());
  expect_back(std::vector<Point>{{1, 0.5}, {2, 0.25}});
  expect_back(std::vector<bool>{true, false, true});
  expect_back(std::vector<std::vector<int>>{{}, {1}, {2, 3}});
  expect_back(std::vector<std::pair<char, double>>{{'a', 1.0}, {'b', 2.0}});
  expect_back(std::map<std::string, std::vector<std::int64_t>>{{"", {}}, {"losses", {3, 4}}});
}

TEST(Objects, ElementsKeepAFormOfTheirOwn) {
  const std::vector<Tagged> values{{17}, {4}};
  expect_back(values);
  EXPECT_NE(object_bytes(values).find("#17;#4;"), std::string::npos);
}

// One element after the other, 100 MB of them took half a minute.
TEST(Objects, ElementsThatAreTheirBytesTravelInOnePiece) {
  const std::vector<int> numbers{7, 8, 9};
  const std::string bytes = object_bytes(numbers);
  ASSERT_EQ(bytes.size(), sizeof(std::size_t) + 3 * sizeof(int));
  EXPECT_EQ(std::memcmp(bytes.data() + sizeof(std::size_t), numbers.data(), 3 * sizeof(int)), 0);
  static_assert(!std::is_base_of_v<ContainerBytes<std::vector<int>, int>, ObjectBytes<std::vector<int>>>);
}

TEST(Objects, BytesThatEndTooSoonAreAnError) {
  const std::string bytes = object_bytes(std::vector<int>{7, 8, 9});
  const auto message_with = [&](std::string_view some) {
    return message_of<Error>([&] { object_of<std::vector<int>>(some); });
  };
  EXPECT_EQ(message_with(std::string_view(bytes).substr(0, bytes.size() - 1)),
            "[objects] expects 3 elements of 4 bytes, got 11 bytes");
  EXPECT_EQ(message_with("short"), "[objects] expects 8 more bytes, got 5");
  const std::string most = object_bytes(std::numeric_limits<std::size_t>::max());
  EXPECT_NE(message_with(most).find("elements of 4 bytes, got 0 bytes"), std::string::npos);
}

}  // namespace
}  // namespace ronde::test
