/// NumPy's files: .npy (one array) and .npz (a zip archive of them, as np.savez writes it).
///
///     Tensor x = read_npy("x.npy");
///     std::map<std::string, Tensor> arrays = read_npz("mnist.npz");    // x_train, y_train, x_test, y_test
///
/// Arrays are little-endian and in C order, of u8, i32, i64, f32 or f64. Archive members may be stored or
/// deflated; their CRC-32 is checked. Errors: IoError when the file is missing or cannot be read, InputError
/// when it is damaged or its arrays take more than `max_bytes`. No memory is taken for what the file cannot
/// hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

RONDE_API Tensor read_npy(const std::string& path, std::uint64_t max_bytes = std::uint64_t{4} << 30);
/// The arrays by name, without ".npy".
RONDE_API std::map<std::string, Tensor> read_npz(const std::string& path,
                                                 std::uint64_t max_bytes = std::uint64_t{4} << 30);

}  // namespace ronde::inline v0
