/// What is in the place of a product before.
#pragma once

namespace ronde::inline v0 {
namespace {

enum class Into { nothing, sum };

}  // namespace
}  // namespace ronde::inline v0
