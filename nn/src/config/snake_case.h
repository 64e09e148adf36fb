/// Keras' automatic names are made of class names: MaxPooling2D -> max_pooling2d.
#pragma once

#include <string>
#include <string_view>

namespace ronde::inline v0 {

std::string snake_case(std::string_view class_name);

}  // namespace ronde::inline v0
