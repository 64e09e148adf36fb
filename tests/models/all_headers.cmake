# cmake -D ROOT=<source tree> -P all_headers.cmake: <ronde/ronde.h> brings every public header, but for those that are left out here.
cmake_minimum_required(VERSION 3.23)
set(left_out
  ronde/core/build_info.h             # what `ronde info` prints
  ronde/core/clock.h                  # of logs and deadlines
  ronde/core/device_group.h           # how a device backend's ranks sum
  ronde/core/file_descriptor.h        # of files
  ronde/core/machine.h                # what `ronde info` prints
  ronde/core/machine_speed.h          # what `ronde bench` measures
  ronde/core/nearest_word.h           # "did you mean"
  ronde/core/new_file.h               # of files
  ronde/core/scaled.h                 # inside of kernels
  ronde/core/sha256.h                 # of files
  ronde/core/signals.h                # of programs
  ronde/core/utf8.h                   # of names of files
  ronde/data/block_permutation.h      # inside of the sampler of packed data
  ronde/data/file_ending.h            # what data sets are told by
  ronde/distributed/heartbeat.h       # between `ronde run` and its ranks
  ronde/distributed/nccl_communicator.h  # made where ranks have GPUs
  ronde/distributed/network.h         # of launchers
  ronde/distributed/rank_facts.h      # what ranks tell each other about their machines
  ronde/distributed/scaling_model.h   # what `ronde bench` computes
  ronde/distributed/shard_sum.h       # inside of the deterministic mode
  ronde/models/build_info.h           # what `ronde info` prints
  ronde/models/terminal.h             # what the progress bar asks
  ronde/nn/keras_origin.h             # how Keras files are read
  )

set(open ronde/ronde.h)
set(reached)
while(open)
  list(POP_FRONT open header)
  if(header IN_LIST reached)
    continue()
  endif()
  list(APPEND reached ${header})
  foreach(room core nn data distributed models)
    if(EXISTS ${ROOT}/${room}/include/${header})
      file(STRINGS ${ROOT}/${room}/include/${header} lines REGEX "^#include <ronde/")
      foreach(line ${lines})
        string(REGEX REPLACE "^#include <([^>]+)>.*" "\\1" included "${line}")
        list(APPEND open ${included})
      endforeach()
    endif()
  endforeach()
endwhile()

set(missing)
foreach(room core nn data distributed models)
  file(GLOB headers RELATIVE ${ROOT}/${room}/include ${ROOT}/${room}/include/ronde/${room}/*.h)
  foreach(header ${headers})
    if(NOT header IN_LIST reached AND NOT header IN_LIST left_out)
      list(APPEND missing ${header})
    endif()
  endforeach()
endforeach()
foreach(header ${left_out})
  if(header IN_LIST reached)
    message(SEND_ERROR "${header} is reached from <ronde/ronde.h>, but listed as left out")
  endif()
endforeach()
list(LENGTH reached count)
if(count LESS 100)
  message(SEND_ERROR "only ${count} headers are reached: the reading of includes is broken")
endif()
if(missing)
  list(JOIN missing "\n  " missing)
  message(SEND_ERROR "<ronde/ronde.h> does not bring\n  ${missing}\ninclude them there, or list them in all_headers.cmake")
endif()
