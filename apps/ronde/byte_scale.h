/// What a net sees of a byte when nobody says so.
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::apps {

inline constexpr double kByteScale = 1.0 / 255;  // bytes to 0 ... 1, as Ronde's data sets have them

/// The net's first layers, right behind its input, are Rescalings or Normalizations that bring bytes near to
/// 1 (as Keras' Rescaling(1/255) does), and not what is in 0 ... 1 already (as one by its mean and deviation
/// does). Of a built net.
bool scales_bytes(const Module& net);
/// 1 for a net that scales bytes itself, else kByteScale.
double byte_scale_for(const Module& net);
/// A line on stderr: bytes go as they are into the net of `file`.
void note_bytes_stay(const std::string& file);

}  // namespace ronde::apps
