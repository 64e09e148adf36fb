#include "cuda/fake_device.h"
#include "cuda/wait.h"

namespace ronde::test {
namespace {

class DeviceAllocatorTest : public ::testing::Test {
 protected:
  DeviceAllocatorTest() : home(make_stream()), other(make_stream()) {}

  cuda::Stream make_stream() {
    cuda::Stream stream = nullptr;
    EXPECT_TRUE(runtime.create_stream(&stream).ok());
    return stream;
  }
  // A kernel on `stream` that writes the block.
  void use(void* memory, cuda::Stream stream) { EXPECT_TRUE(runtime.discard(memory, 64, stream).ok()); }

  FakeRuntime runtime{{.memory = std::size_t{1} << 20}};
  cuda::Stream home, other;
};

TEST_F(DeviceAllocatorTest, GivesAReturnedBlockToTheNext) {
  cuda::DeviceAllocator allocator(runtime, home);
  void* const first = allocator.allocate(1000);
  allocator.deallocate(first);
  EXPECT_EQ(allocator.allocate(990), first);
  EXPECT_NE(allocator.allocate(990), first);
  EXPECT_EQ(allocator.statistics().requests, 2u);
  EXPECT_EQ(allocator.allocate(0), nullptr);
}

TEST_F(DeviceAllocatorTest, IsAlignedAndHasRoom) {
  cuda::DeviceAllocator allocator(runtime, home);
  for (const std::size_t bytes : {1, 255, 256, 257, 5000, 100001}) {
    void* const memory = allocator.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % cuda::DeviceAllocator::kAlignment, 0u);
    EXPECT_TRUE(runtime.discard(memory, bytes, home).ok());
  }
}

// It is on who uses a block elsewhere to keep it: this is what comes of it otherwise.
TEST_F(DeviceAllocatorTest, GivenBackWhileAnotherStreamUsesItABlockRaces) {
  cuda::DeviceAllocator allocator(runtime, home);
  void* const first = allocator.allocate(1000);
  use(first, other);
  allocator.deallocate(first);
  EXPECT_EQ(runtime.discard(allocator.allocate(1000), 64, home).outcome, cuda::Outcome::refused);
}

TEST_F(DeviceAllocatorTest, GivesItsCacheBackBeforeItFails) {
  cuda::DeviceAllocator allocator(runtime, home);
  void* const most = allocator.allocate(700 << 10);
  use(most, home);
  allocator.deallocate(most);
  void* const different = allocator.allocate(300 << 10);
  EXPECT_NE(different, nullptr);
  EXPECT_NE(allocator.allocate(400 << 10), nullptr);
  expect_error([&] { allocator.allocate(900 << 10); }, "[cuda] out of memory, bytes wanted: 9");
}

TEST_F(DeviceAllocatorTest, GivesEverythingBackAtTheEnd) {
  {
    cuda::DeviceAllocator allocator(runtime, home);
    for (const std::size_t bytes : {100, 2000, 30000}) allocator.deallocate(allocator.allocate(bytes));
    EXPECT_GT(runtime.memory_in_use(), 0u);
  }
  EXPECT_EQ(runtime.memory_in_use(), 0u);
}

// Where the device keeps one, as one that is lost keeps all, the others that went back are not given again.
TEST_F(DeviceAllocatorTest, GivesWhatTheDeviceHasBackToNobody) {
  cuda::DeviceAllocator allocator(runtime, home);
  std::vector<void*> blocks(3);
  for (void*& block : blocks) block = allocator.allocate(1000);
  for (void* const block : blocks) allocator.deallocate(block);
  cuda::Graph graph = nullptr;
  ASSERT_TRUE(runtime.begin_capture(home).ok());
  use(blocks[1], home);
  ASSERT_TRUE(runtime.end_capture(home, &graph).ok());
  EXPECT_THROW(allocator.allocate(std::size_t{1} << 20), Error);
  const std::size_t held = allocator.statistics().held;
  EXPECT_GT(held, 0u);
  while (allocator.statistics().held == held) EXPECT_NE(allocator.allocate(1000), nullptr);
  ASSERT_TRUE(runtime.destroy_graph(graph).ok());
}

TEST_F(DeviceAllocatorTest, APoolKeepsItsBlocks) {
  cuda::DeviceAllocator allocator(runtime, home);
  cuda::DeviceAllocator::Pool pool;
  const auto allocate_inside = [&] {
    const cuda::ActivePool active(allocator, &pool);
    return allocator.allocate(1000);
  };
  void* const inside = allocate_inside();
  allocator.deallocate(inside);
  EXPECT_NE(allocator.allocate(1000), inside);
  EXPECT_EQ(allocate_inside(), inside);
  allocator.deallocate(inside);
  allocator.dissolve(pool);
  EXPECT_EQ(allocator.allocate(1000), inside);
}

TEST_F(DeviceAllocatorTest, APoolTakesWhatIsThereForGood) {
  cuda::DeviceAllocator allocator(runtime, home);
  void* const memory = allocator.allocate(1000);
  allocator.deallocate(memory);
  cuda::DeviceAllocator::Pool pool;
  {
    const cuda::ActivePool active(allocator, &pool);
    EXPECT_EQ(allocator.allocate(1000), memory);
    EXPECT_EQ(allocator.statistics().requests, 1u);
  }
  allocator.deallocate(memory);
  EXPECT_NE(allocator.allocate(1000), memory);
}

}  // namespace
}  // namespace ronde::test
