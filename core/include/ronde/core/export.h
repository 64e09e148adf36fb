#pragma once

/// Marks what `libronde.so` exports; everything else stays hidden.
#define RONDE_API __attribute__((visibility("default")))
