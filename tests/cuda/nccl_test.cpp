// What the real half asks of NCCL about memory, without a GPU: a stand-in notes it down.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cuda/gpu/nccl_library.h"
#include "cuda/gpu/rank_collectives.h"

namespace ronde::test {
namespace {

/// NCCL as far as these tests go. Windows are opened by its thread, here by the first question how far it is.
struct StandIn {
  std::vector<std::string> calls;
  bool is_symmetric = true;  // devices reach each other
  void** opening = nullptr;
};
StandIn nccl_now;

ncclResult_t note(const char* call) {
  nccl_now.calls.emplace_back(call);
  return ncclSuccess;
}

ncclResult_t ask(ncclComm_t, ncclResult_t* state) {
  *state = nccl_now.opening ? ncclInProgress : ncclSuccess;
  if (nccl_now.opening && nccl_now.is_symmetric) *nccl_now.opening = &nccl_now;
  nccl_now.opening = nullptr;
  return ncclSuccess;
}

ncclResult_t open_window(ncclComm_t, void*, std::size_t, void** window, int flags) {
  nccl_now.opening = window;
  return note(flags == 1 ? "open symmetric window" : "open window");
}

cuda::NcclLibrary library() {
  cuda::NcclLibrary nccl;
  nccl.GetErrorString = [](ncclResult_t) { return "an error"; };
  nccl.GetLastError = [](ncclComm_t) { return ""; };
  nccl.CommInitRankConfig = [](ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*) { return ncclSuccess; };
  nccl.CommGetAsyncError = ask;
  nccl.CommFinalize = [](ncclComm_t) { return note("finalize"); };
  nccl.CommDestroy = [](ncclComm_t) { return note("destroy"); };
  nccl.CommAbort = [](ncclComm_t) { return ncclSuccess; };
  nccl.CommRegister = [](ncclComm_t, void*, std::size_t, void** handle) {
    *handle = &nccl_now;
    return note("register");
  };
  nccl.CommDeregister = [](ncclComm_t, void*) { return note("deregister"); };
  nccl.CommWindowRegister = open_window;
  nccl.CommWindowDeregister = [](ncclComm_t, void*) { return note("close window"); };
  nccl.MemAlloc = [](void** memory, std::size_t) {
    *memory = &nccl_now;
    return note("allocate");
  };
  nccl.MemFree = [](void*) { return note("free"); };
  nccl.has_windows = true;
  return nccl;
}

cuda::NcclLibrary nccl_library = library();

using Calls = std::vector<std::string>;

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    nccl_now = {};
    nccl_library = library();
    ASSERT_TRUE(collectives->join({}, 0, 1, &group).ok());
    ASSERT_TRUE(collectives->progress(group).ok());
  }
  void* open_window() {
    void *memory = nullptr, *handle = nullptr;
    EXPECT_TRUE(collectives->allocate(100, &memory).ok());
    EXPECT_TRUE(collectives->enroll_window(group, memory, 100, &handle).ok());
    EXPECT_EQ(collectives->progress(group).outcome, cuda::Outcome::not_ready);
    EXPECT_TRUE(collectives->progress(group).ok());
    return handle;
  }

  std::unique_ptr<cuda::Collectives> collectives = cuda::make_collectives(0);
  cuda::Group group = nullptr;
};

TEST_F(Nccl, OpensAndClosesWindows) {
  void* handle = open_window();
  EXPECT_TRUE(collectives->withdraw(group, handle).ok());
  EXPECT_TRUE(collectives->release(&nccl_now).ok());
  EXPECT_TRUE(collectives->leave(group).ok());
  EXPECT_EQ(nccl_now.calls,
            (Calls{"allocate", "open symmetric window", "close window", "free", "finalize", "destroy"}));
}

// Then it says that all went well, and has registered nothing.
TEST_F(Nccl, RegistersMemoryWhereThereIsNoWindow) {
  nccl_now.is_symmetric = false;
  void* handle = open_window();
  EXPECT_TRUE(collectives->progress(group).ok());
  EXPECT_TRUE(collectives->withdraw(group, handle).ok());
  EXPECT_TRUE(collectives->leave(group).ok());
  EXPECT_EQ(nccl_now.calls,
            (Calls{"allocate", "open symmetric window", "register", "deregister", "finalize", "destroy"}));
}

TEST_F(Nccl, KnowsNoWindowsBefore227) {
  nccl_library.has_windows = false;
  void* memory = nullptr;
  EXPECT_EQ(collectives->allocate(100, &memory).outcome, cuda::Outcome::unsupported);
  void* handle = nullptr;
  EXPECT_TRUE(collectives->enroll(group, &nccl_now, 100, &handle).ok());
  EXPECT_TRUE(collectives->withdraw(group, handle).ok());
  EXPECT_TRUE(collectives->leave(group).ok());
  EXPECT_EQ(nccl_now.calls, (Calls{"register", "deregister", "finalize", "destroy"}));
}

// Its abort may come back when the graphs are gone only, and it closes windows itself.
TEST_F(Nccl, ClosesNoWindowOfWhatWasAborted) {
  void* handle = open_window();
  EXPECT_TRUE(collectives->cancel(group).ok());
  EXPECT_EQ(collectives->enroll_window(group, &nccl_now, 100, &handle).outcome, cuda::Outcome::failed);
  EXPECT_TRUE(collectives->withdraw(group, handle).ok());
  EXPECT_TRUE(collectives->leave(group).ok());
  EXPECT_EQ(nccl_now.calls, (Calls{"allocate", "open symmetric window"}));
}

}  // namespace
}  // namespace ronde::test

namespace ronde::inline v0::cuda {

const NcclLibrary& nccl() {
  return test::nccl_library;
}

}  // namespace ronde::inline v0::cuda
