# The phases of `check`, most valuable first. A line of the table: name, seconds it may take, what it tells.
# shellcheck shell=bash

phases=(
  "info 30 versions, and whether a GPU is usable, from the tool and from the kernels' tests"
  "tiny 60 a small training in float32 and in bfloat16"
  "oracle 100 every kernel x shape x dtype against the f64 oracle, in up to 12 processes, but for the next phase's"
  "trainings 60 nets of other kinds and several threads at once: the CPU's weights, and the same bits each time"
  "mnist 90 images/s and accuracy, float32 and bfloat16"
  "cifar10 90 images/s, float32 and bfloat16"
  "recipes 90 the records' recipes: seconds from data in memory to the tested model"
  "torch 90 the same nets in PyTorch, eager"
  "forward 200 convolutions forward against the f64 oracle: cuDNN compiles an engine for most shapes"
  "kernels 90 each launch of a step: when, how long, and how long the GPU waited for it, by CUPTI"
  "equal 120 graph = no graph and run twice, bit for bit"
  "resume 90 files of the GPU and the CPU go on on the other; stopped and resumed = not stopped"
  "ranks 130 two ranks on one GPU by NCCL, bit for bit"
  "tf32 100 the table of kernels with TF32: only products may differ"
  "memcheck 120 compute-sanitizer: accesses beside memory"
  "racecheck 260 compute-sanitizer: threads of a block that race"
  "torch-compile 280 the same nets in PyTorch, torch.compile(mode=max-autotune)"
)

# The order of --budget, and seconds there: first what a GPU has not run or what has changed since, all together in some 12
# minutes. On an H100 the first five took 8 to 30 each.
budgeted=(
  "info 20" "trainings 40" "mnist 40" "equal 25" "ranks 30" "cifar10 45" "kernels 70" "oracle 110" "tf32 60" "racecheck 120"
  "torch 40" "torch-compile 100" "memcheck 60" "forward 130" "recipes 45" "resume 20" "tiny 15"
)

oracle=(env RONDE_TEST_BACKEND=cuda "$ops" --gtest_brief=1)
small="--epochs 1 --train-samples 6400 --test-samples 1000 --batch-size 100 --seed 3"
# What a fake device computes in seconds. CTest runs the whole table of kernels on it.
[[ -z $rehearses ]] || small="--epochs 1 --train-samples 16 --test-samples 4 --batch-size 4 --seed 3"

phase_info() {
  local status=passed
  part "versions" "$bin/ronde" info
  grep -Eq 'GPU +(none|.*GPU 0 .* cannot be used)' "$work/log" && status=FAILED && failed=1
  note "$status" "a GPU is usable" "$(shown "$bin/ronde" info)" "$(sed -n 's/^ *GPU  *//p' "$work/log")"
  # For whoever has to find out what is missing there.
  { nvidia-smi; echo; echo "LD_LIBRARY_PATH=$libraries"; ronde ldd "$module" "$ops"; } >"$work/log" 2>&1
  log_of "the driver, and where libraries are" nvidia-smi, ldd
  part "the tests of kernels open the module" env RONDE_TEST_BACKEND=cuda "$ops" --gtest_brief=1 --gtest_filter=Dense.*
}

phase_tiny() {
  has MNIST || return
  train small train_mnist $small
  train mixed train_mnist $small --precision mixed_bfloat16
}

# Without trials of engines, which take minutes there.
forward=Conv2d.Forward:Conv2d.ReluKeepsANan
phase_oracle() {
  local filter=-$forward
  [[ -n $rehearses ]] && filter=Dense*:Softmax*
  shards "kernels x shapes x dtypes against the f64 oracle" "${oracle[@]}" "--gtest_filter=$filter"
}
phase_forward() {
  local -x RONDE_CUDA_ENGINES=deterministic
  local filter=$forward
  [[ -n $rehearses ]] && filter=Softmax*
  shards "convolutions forward against the f64 oracle" "${oracle[@]}" "--gtest_filter=$filter"
}

# Engines by trial, which take a second for each shape in bfloat16, are the nets' of other phases.
phase_trainings() {
  local -x RONDE_CUDA_ENGINES=deterministic
  local times=5
  [[ -n $rehearses ]] && times=1
  part "trainings of other nets, and of several threads" "$trainings" --gtest_brief=1 --gtest_repeat=$times
}

phase_tf32() {
  local filter=-Matmul*:Dense*:Conv2d*:Dropout.BehindDense
  [[ -n $rehearses ]] && filter=Softmax*
  shards "the same with TF32: only products may differ" env RONDE_TEST_BACKEND=cuda RONDE_CUDA_MATH=tf32 \
    "$ops" --gtest_brief=1 "--gtest_filter=$filter"
}

# figures NAME FULL BOUND PROGRAM ARGS...: in both precisions, as a user would train; FULL is how many samples there are,
# BOUND is "" or the test accuracy that training on all of them has to reach.
figures() {
  local name=$1 full=$2 bound=$3 precision
  shift 3
  for precision in float32 mixed_bfloat16; do
    train "$name-$precision" "$@" --precision "$precision"
    data "$name-$precision" "$full"
    speed "$name-$precision"
    [[ -z $bound ]] || at_least "$bound" "$name-$precision" "$full"
  done
}

phase_mnist() {
  has MNIST || return
  local length="--epochs 12 --seed 1" bound=0.97  # 0.986 on a CPU
  [[ -n $rehearses ]] && length="${small/--epochs 1/--epochs 2}" && bound=0
  figures mnist 60,000 "$bound" train_mnist $length
}

phase_cifar10() {
  has CIFAR-10 || return
  local length="--epochs 6 --steps-per-epoch 1563 --seed 1"  # a pass over all of the data, however much is there
  [[ -n $rehearses ]] && length="--epochs 2 --steps-per-epoch 2 --batch-size 1 --test-samples 2 --seed 1"
  figures cifar10 50,000 "" train_cifar10 $length
}

phase_recipes() {
  local precision length=''
  [[ -n $rehearses ]] && length="--train-samples 8 --test-samples 4 --batch-size 4 --epochs 1 --steps-per-epoch 2"
  for precision in float32 mixed_bfloat16; do
    if has MNIST; then
      train "recipe-mnist-$precision" train_mnist --recipe fast --seed 1 $length --precision "$precision"
      to_model "recipe-mnist-$precision"
    fi
    if has CIFAR-10; then
      train "recipe-cifar10-$precision" train_cifar10 --recipe fast --seed 1 $length --precision "$precision"
      data "recipe-cifar10-$precision" 50,000
      speed "recipe-cifar10-$precision"
      to_model "recipe-cifar10-$precision"
    fi
  done
}

# pytorch HOW: a row for each line as it came, also if time was over before the last; and the ratio to ours, if we have it.
pytorch() {
  local how=$1 status=0 net precision rate ours
  if [[ -n $rehearses ]] || ! limited python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
    note "left out" "PyTorch on the same nets, $how" "python3 -c 'import torch'" "is not installed, or has no GPU"
    return
  fi
  limited python3 "$here/bench_torch.py" "$how" >"$work/log" 2>&1 || status=$?
  log_of "PyTorch, $how" python3 "$here/bench_torch.py" "$how"
  while read -r net precision _ rate; do
    note measured "PyTorch, $net-$precision, $how" "tests/gpu/bench_torch.py $how" "$rate images/s"
    ours=$(figure "$net-$precision")
    [[ -n $ours ]] && note ratio "Ronde / PyTorch, $net-$precision, $how" "the rows above" "$(
      awk -v a="$ours" -v b="$rate" 'BEGIN { printf "%.2f", a / b }'
    ) (PyTorch: one batch that stays on the GPU, no data set, no augmentation, no metrics$(
      [[ $how == compile ]] && echo "; its optimizer is outside the graph"))"
  done < <(grep -E "^[a-z0-9]+ (float32|mixed_bfloat16) $how [0-9]+$" "$work/log")
  if ((status != 0)); then
    failed=1
    tail -n 20 "$work/log"
    note FAILED "PyTorch, $how" "tests/gpu/bench_torch.py $how" "$(ended "$status"): $(tail -n 1 "$work/log" | cut -c1-200)"
  fi
}

# trace_library: prints the library that notes when kernels ran; made here if none was packed and CUPTI is there.
trace_library() {
  local packed=$build/tests/gpu/libkernel_trace.so cuda
  if [[ ! -f $packed ]]; then
    cuda=$(dirname "$(dirname "$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc)")")
    packed=$work/libkernel_trace.so
    "$here/make_kernel_trace" "$cuda" "$packed" >"$work/log" 2>&1 || return 1
  fi
  echo "$packed"
}

# kernels NAME PROGRAM ARGS...: each launch of a step, as it is trained, in graphs.
kernels() {
  local name=$1 program=$2 status=0
  shift 2
  ronde env CUDA_INJECTION64_PATH="$tracer" KERNEL_TRACE="$work/trace" "$bin/$program" --device cuda --epochs 4 \
    --steps-per-epoch 400 --test-samples 128 --seed 1 "$@" >"$work/out" 2>&1 || status=$?
  python3 "$here/kernel_times.py" "$work/trace" >"$work/log" 2>&1 || status=1
  [[ $status == 0 ]] || cat "$work/out" >>"$work/log"
  log_of "$name" "CUDA_INJECTION64_PATH=libkernel_trace.so" "$program" "$@"
  if ((status == 0)); then
    note measured "kernels of $name" "CUDA_INJECTION64_PATH=... $program $*" "$(head -n 1 "$work/log")"
  else
    failed=1
    note FAILED "kernels of $name" "CUDA_INJECTION64_PATH=... $program $*" \
      "$(ended "$status"): $(tail -n 1 "$work/log" | cut -c1-200)"
  fi
}

phase_kernels() {
  has MNIST || return
  local precision tracer
  if [[ -n $rehearses ]] || ! tracer=$(trace_library); then
    note "left out" "kernels" "tests/gpu/make_kernel_trace" "CUPTI is not there, or would see no GPU"
    return
  fi
  for precision in mixed_bfloat16 float32; do
    kernels "mnist-$precision" train_mnist --precision "$precision"
    ! grep -Eq '^ *CIFAR-10 +found' "$work/info" ||
      kernels "cifar10-$precision" train_cifar10 --precision "$precision"
  done
}

phase_torch() { pytorch eager; }
phase_torch_compile() { pytorch compile; }

phase_equal() {
  has MNIST || return
  local -x RONDE_CUDA_ENGINES=deterministic
  train bits train_mnist $small
  RONDE_CUDA_GRAPHS=off train bits-without-graphs train_mnist $small
  equal "graph = no graph, bit for bit" "$work/bits.json" "$work/bits-without-graphs.json"
  train bits-again train_mnist $small
  equal "run twice, bit for bit" "$work/bits.json" "$work/bits-again.json"
  train bits-mixed train_mnist $small --precision mixed_bfloat16
  RONDE_CUDA_GRAPHS=off train bits-mixed-without-graphs train_mnist $small --precision mixed_bfloat16
  equal "mixed precision, graph = no graph, bit for bit" "$work/bits-mixed.json" "$work/bits-mixed-without-graphs.json"
}

phase_resume() {
  has MNIST || return
  local -x RONDE_CUDA_ENGINES=deterministic
  local two=${small/--epochs 1/--epochs 2} three=${small/--epochs 1/--epochs 3}
  train straight train_mnist $two --dir "$work/straight"
  train stopped train_mnist $small --dir "$work/stopped"
  train resumed train_mnist $two --dir "$work/stopped" --resume auto
  equal "stopped and resumed = not stopped, bit for bit" "$work/straight.json" "$work/resumed.json"
  part "a file of the GPU goes on on the CPU" "$bin/train_mnist" --device cpu $three --dir "$work/stopped" --resume auto
  part "a file of the CPU goes on on the GPU" "$bin/train_mnist" --device cuda ${small/--epochs 1/--epochs 4} \
    --dir "$work/stopped" --resume auto
}

# ranks NAME PROGRAM ARGS...: two processes without a launcher. NCCL takes ranks with different NCCL_HOSTID for ranks of
# two machines, so that both may use one GPU: right, but slow, so no speed is noted.
ranks() {
  local name=$1 program=$2 status=0 pids=() rank
  shift 2
  rm -f "$work/meeting"
  for rank in 0 1; do
    ronde env RONDE_RANK=$rank RONDE_WORLD_SIZE=2 RONDE_RENDEZVOUS="file:$work/meeting" RONDE_IFACE=lo \
      NCCL_HOSTID="rank-$rank" NCCL_SOCKET_IFNAME=lo NCCL_ALGO=Ring NCCL_PROTO=Simple NCCL_MAX_CTAS=1 \
      NCCL_NVLS_ENABLE=0 NCCL_MNNVL_ENABLE=0 NCCL_IB_DISABLE=1 RONDE_HANG_TIMEOUT=60 \
      "$bin/$program" --device cuda --metrics-json "$work/$name.json" "$@" >"$work/rank.$rank" 2>&1 &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || status=$?; done
  cat "$work/rank.0" "$work/rank.1" >"$work/log"
  log_of "$name" "RONDE_RANK=... NCCL_HOSTID=..." "$program" "$@"
  local row=("$program on two ranks by NCCL, $name" "RONDE_RANK=... NCCL_HOSTID=... $program --device cuda $*")
  if ((status == 0)); then
    note passed "${row[@]}" "$(grep -h 'Test accuracy' "$work/log" | tail -n 1)"
  else
    failed=1
    tail -n 20 "$work/log"
    note FAILED "${row[@]}" "$(ended "$status"): $(grep '^ronde: ' "$work/log" | tail -n 1 | cut -c1-300)"
  fi
}

phase_ranks() {
  has MNIST || return
  local -x RONDE_CUDA_ENGINES=deterministic
  ranks two-ranks train_mnist $small
  ranks two-ranks-again train_mnist $small
  equal "two ranks, run twice, bit for bit" "$work/two-ranks.json" "$work/two-ranks-again.json"
  RONDE_CUDA_GRAPHS=off ranks two-ranks-without-graphs train_mnist $small
  equal "two ranks: sums over the ranks inside the graph = outside, bit for bit" "$work/two-ranks.json" \
    "$work/two-ranks-without-graphs.json"
  RONDE_NCCL_WINDOWS=off ranks two-ranks-without-windows train_mnist $small
  equal "two ranks: gradients in windows = in ordinary memory, bit for bit" "$work/two-ranks.json" \
    "$work/two-ranks-without-windows.json"
}

# sanitize TOOL OPTIONS...: all kernels of ours. Suites of nothing but a library's products, and of no GPU, are left out;
# kernels of libraries are not looked at, and what these call and forgive is no error of ours.
sanitize() {
  local tool=$1 sanitizer
  shift
  sanitizer=$(PATH=$PATH:/usr/local/cuda/bin:$pip_bin command -v compute-sanitizer)
  if [[ -n $rehearses || -z $sanitizer ]]; then
    note "left out" "compute-sanitizer $tool" "command -v compute-sanitizer" "is not installed, or would see no GPU"
    return
  fi
  ronde env RONDE_TEST_BACKEND=cuda "$sanitizer" --tool "$tool" "$ops" --gtest_brief=1 --gtest_filter=Dropout.* \
    >"$work/log" 2>&1
  if grep -q 'Device not supported' "$work/log"; then
    log_of "compute-sanitizer $tool" "$sanitizer" --tool "$tool"
    note "left out" "compute-sanitizer $tool" "compute-sanitizer --tool $tool" "Device not supported"
    return
  fi
  local filter=-Matmul*:Threads*:Isa*:ConvAlgorithm*
  # It ends itself ("failed to handle a hardware exception") in kernels of cuDNN and cuBLASLt, although it is to pass them over.
  [[ $tool != racecheck ]] || filter+=:Dense*:Conv2d*:MixedKernels*:Dropout.BehindDense
  shards "compute-sanitizer $tool, all kernels of ours" env RONDE_TEST_BACKEND=cuda "$sanitizer" --tool "$tool" "$@" \
    --kernel-name kns=ronde --port "{port}" --error-exitcode 1 "$ops" --gtest_brief=1 "--gtest_filter=$filter"
}

# Trying engines of libraries takes their time, and they are not looked at.
phase_memcheck() { RONDE_CUDA_ENGINES=deterministic sanitize memcheck --report-api-errors no; }
phase_racecheck() { RONDE_CUDA_ENGINES=deterministic sanitize racecheck; }
