# What phases.sh is written in: commands that end with their phase, and results that survive whatever ends the script.
# shellcheck shell=bash

failed=0
phase=
deadline=0

# limited COMMAND...: ends it when its phase's time is over (exit status 124, or 137 if it does not listen), or does not
# begin it then.
limited() {
  local left=$((deadline - SECONDS))
  ((left > 0)) || return 124
  timeout -k 5 "$left" "$@"
}

# ronde COMMAND...: one of Ronde's programs. The libraries that it takes along are not for anybody else.
ronde() { limited env ${libraries:+LD_LIBRARY_PATH="$libraries"} "$@"; }

# A command as a reader may want to see it.
shown() {
  local text="$*"
  text=${text//"$build"\//}
  text=${text//"$work"\//}
  printf '%s' "${text//"$here"\//tests/gpu/}"
}

# note STATUS NAME COMMAND FIGURE: a row, at once in the file.
note() {
  printf '| %s | %s | `%s` | %s |\n' "$1" "${2//|//}" "${3//|//}" "${4//|//}" >>"$work/rows"
  printf '%-8s %s: %s\n' "$1" "$2" "$4"
  keep
}

# keep: writes the results and, beside them, the logs so far.
keep() {
  {
    if [[ -s $work/before ]]; then cat "$work/before"; else echo "# What ran on a GPU"; fi
    printf '\n## %s, %s, commit %s\n\n' "$when" "$device" "$commit"
    printf 'Written by `tests/gpu/check`; the build: %s.\n\n' "$origin"
    echo "| | what | command | last line or figure |"
    echo "|---|---|---|---|"
    cat "$work/rows" 2>/dev/null
    if [[ -n ${ran:-} ]]; then printf '\nPhases: %s.\n' "$ran"; fi
    if [[ -n $phase ]]; then printf '\nUnder way when this was written: %s.\n' "$phase"; fi
  } >"$results.new" && mv "$results.new" "$results"
  tar -C "$work" -czf "$archive.new" logs && mv "$archive.new" "$archive"
}

# ended STATUS: what to say of a command with this exit status.
ended() {
  case $1 in
    124 | 137) echo "ended: the ${limit} s of its phase were over" ;;
    *) echo "exit status $1" ;;
  esac
}

# log_of NAME COMMAND...: where the phase's log gets what $work/log holds.
log_of() {
  {
    printf '\n== %s\n$ %s\n' "$1" "$(shown "${@:2}")"
    cat "$work/log"
  } >>"$work/logs/$phase.log"
}

# part NAME COMMAND...: passes when this program of Ronde's does; the figure is the line that says most.
part() {
  local name=$1 status=0 figure
  shift
  ronde "$@" >"$work/log" 2>&1 || status=$?
  log_of "$name" "$@"
  figure=$({ grep -E 'PASSED|GPU  |Test accuracy' "$work/log" || cat "$work/log"; } | tail -n 1 | cut -c1-200)
  if ((status == 0)); then
    note passed "$name" "$(shown "$@")" "$figure"
  else
    failed=1
    tail -n 20 "$work/log"
    figure=$(grep -E '^ronde: |C\+\+ exception|Error' "$work/log" | tail -n 1 | cut -c1-300)
    note FAILED "$name" "$(shown "$@")" "$(ended "$status"): $figure"
  fi
  return "$status"
}

# shards NAME COMMAND...: a GoogleTest in up to 12 processes; {port} in a word is a number of each one's own.
shards() {
  local name=$1 count pids=() i status=0 passed
  shift
  count=$(nproc)
  ((count <= 12)) || count=12
  rm -f "$work"/shard.*
  for ((i = 0; i < count; ++i)); do
    GTEST_TOTAL_SHARDS=$count GTEST_SHARD_INDEX=$i ronde "${@//\{port\}/$((49152 + 20 * i))}" >"$work/shard.$i" 2>&1 &
    pids+=($!)
  done
  for i in "${pids[@]}"; do wait "$i" || status=$?; done
  cat "$work"/shard.* >"$work/log"
  log_of "$name" "$@"
  passed=$(sed -n 's/.*\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$work/log" | awk '{ sum += $1 } END { print sum + 0 }')
  if ((status == 0 && passed > 0)); then
    note passed "$name" "in $count processes: $(shown "$@")" "$passed tests passed"
  else
    failed=1
    grep -E 'FAILED|C\+\+ exception|=========' "$work/log" | head -n 20
    note FAILED "$name" "in $count processes: $(shown "$@")" "$(ended "$status"), $passed tests passed; $(
      sed -n 's/^\[  FAILED  \] \([A-Za-z0-9_]*\.[A-Za-z0-9_/]*\).*/\1/p' "$work/log" | sort -u | head -n 10 | paste -sd ' '
    ) $(grep -hE 'C\+\+ exception|^========= (Invalid|Error|Race|ERROR)' "$work/log" | head -n 1 | cut -c1-300)"
  fi
}

# field FILE NAME: of a metrics file, the last value of that name.
field() { sed -n "s/.*\"$2\": *\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}.*/\1/p" "$1" | tail -n 1; }

# figure NAME: the last speed that was noted under this name, in an earlier call's file too.
figure() {
  cat "$work/before" "$work/rows" 2>/dev/null |
    sed -n "s/^| measured | $1 | .* | \([0-9.]*\) images\/s of the last of .*/\1/p" | tail -n 1
}

# equal NAME FILE FILE: both trainings ended with the same weights.
equal() {
  local a='' b=''
  [[ -f $2 ]] && a=$(field "$2" weights_sha256)
  [[ -f $3 ]] && b=$(field "$3" weights_sha256)
  if [[ -n $a && $a == "$b" ]]; then
    note passed "$1" "compare weights_sha256" "$a"
  else
    failed=1
    note FAILED "$1" "compare weights_sha256" "${a:-none} and ${b:-none}"
  fi
}

# has NAME: is the data set there? If not, a row says so.
has() {
  grep -Eq "^ *$1 +found" "$work/info" && return
  note "left out" "$phase" "ronde info" "no $1 in $(sed -n 's/^ *data  *//p' "$work/info")"
  return 1
}

# detours NAME: which operations the training whose log is $work/log gave float32 copies, or kernels that are slow.
detours() {
  local says='of bfloat16 goes by float32 copies' line
  if grep -q 'precision *mixed_bfloat16' "$work/log"; then
    note measured "$1" "operations of bfloat16 by float32 copies: refused by a library, by design, by choice" \
      "$(grep -c "$says, refused" "$work/log"), $(grep -c "$says, by design" "$work/log"), $(grep -c "$says, by choice" "$work/log")"
  fi
  grep -o "[a-z0-9_]* $says.*" "$work/log" | cut -c1-300 | while read -r line; do
    note copied "$1" "float32 copies" "$line"
  done
  grep -o "[a-z0-9_]* goes by a kernel that is slow.*" "$work/log" | cut -c1-300 | while read -r line; do
    note slow "$1" "kernels for which a library has nothing" "$line"
  done
}

# data NAME FULL: how many samples the training whose log is $work/log learned from.
data() {
  local line
  line=$(sed -n 's/^ *data  *//p' "$work/log" | head -n 1 | sed 's/ from .*//')
  case $line in
    "") ;;
    *" $2 + 10,000 images"*) note data "$1" "its banner" "$line" ;;
    *) note data "$1" "its banner" "a cut of the $2 + 10,000: $line" ;;
  esac
}

# train NAME PROGRAM ARGS...: leaves $work/NAME.json, which a training that was ended has for the epochs before.
train() {
  local name=$1 program=$2 status=0
  shift 2
  part "$program, $name" "$bin/$program" --device cuda --metrics-json "$work/$name.json" "$@" || status=$?
  detours "$name"
  return "$status"
}

# speed NAME: of the last epoch, because plans and graphs are made in the first.
speed() {
  local json=$work/$1.json
  [[ -f $json ]] || return 0
  sed -n '/"epochs"/,/^ *\]/p' "$json" >"$work/epochs"
  local rate epochs seconds
  rate=$(field "$work/epochs" images_per_second | cut -d. -f1)
  epochs=$(grep -c '"epoch":' "$work/epochs")
  seconds=$(field "$work/epochs" seconds | cut -c1-6)
  note measured "$1" "images_per_second in --metrics-json" "$rate images/s of the last of $epochs epochs, of $seconds s"
}

# to_model NAME: the line of the training whose log is $work/log.
to_model() {
  local line
  line=$(grep '^Seconds from data in memory to tested model' "$work/log") || return 0
  note measured "$1" "its last lines" "$line; $(grep '^Test accuracy' "$work/log")"
}

# at_least BOUND NAME FULL: the test accuracy after a training on all of the FULL samples.
at_least() {
  local json=$work/$2.json accuracy
  if ! grep -q "^ *data .* $3 + 10,000 images" "$work/log"; then
    note "left out" "$2, test accuracy of at least $1" "--metrics-json" "not all of the data"
    return
  fi
  accuracy=$([[ -f $json ]] && sed -n '/"test"/,/}/p' "$json" >"$work/test" && field "$work/test" accuracy)
  if awk -v a="${accuracy:-0}" -v b="$1" 'BEGIN { exit !(a >= b) }'; then
    note passed "$2, test accuracy of at least $1" "--metrics-json" "$accuracy"
  else
    failed=1
    note FAILED "$2, test accuracy of at least $1" "--metrics-json" "${accuracy:-none}"
  fi
}
