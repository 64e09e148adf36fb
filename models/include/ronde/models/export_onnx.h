/// ONNX export: the net as a file that onnxruntime, TensorRT, OpenVINO and browsers run.
///
///     write_onnx("net.onnx", model.module());
///     // Python: onnxruntime.InferenceSession("net.onnx").run(None, {"input": images})
///
/// The file computes what `predict` does (dropout is gone, batch normalisation uses its moving statistics),
/// in f32. Images go in as Keras users give them, (N, h, w, c), with any number N of them; inside they are
/// (N, c, h, w), as ONNX wants them. Opset 13, no custom operators. Needs no protobuf library.
///
/// onnxruntime up to 1.31 at least refuses a ZeroPadding2D wider than the window of the pooling right behind
/// it, which it tries to make one operator.
///
/// Nets made of layers in a known order can be exported: Sequential, nested too, and functional graphs. Those
/// of several inputs or outputs have them in the file by the names of their parts (`Graph::input_parts`).
#pragma once

#include <string>

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

struct OnnxOptions {
  std::string name = "ronde";  ///< of the graph
  std::string input = "input";    ///< of a net with one input
  std::string output = "output";  ///< of a net with one output
};

/// Replaces the file atomically. `net` is built. An Error names the module that cannot be exported (one with
/// a forward() of its own, an unknown layer) and the layers that can. IoError.
RONDE_API void write_onnx(const std::string& path, const Module& net, const OnnxOptions& options = {});
/// The file's bytes.
RONDE_API std::string encode_onnx(const Module& net, const OnnxOptions& options = {});

}  // namespace ronde::inline v0
