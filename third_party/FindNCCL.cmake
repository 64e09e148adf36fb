# Finds the header of NCCL 2.19 or newer beside the CUDA toolkit, in $NCCL_ROOT or in NCCL_ROOT: NCCL::headers,
# NCCL_VERSION, NCCL_LIBRARY_DIR (empty where only the header is). The library is opened at run time.
find_path(NCCL_INCLUDE_DIR nccl.h HINTS ENV NCCL_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
find_file(NCCL_LIBRARY_FILE libnccl.so.2 HINTS ENV NCCL_ROOT ${CUDAToolkit_LIBRARY_DIR} ${NCCL_INCLUDE_DIR}/..
  PATH_SUFFIXES lib lib64)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY_FILE)

if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  string(REPLACE ";" "." NCCL_VERSION "${numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::headers)
  add_library(NCCL::headers INTERFACE IMPORTED)
  set_target_properties(NCCL::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${NCCL_INCLUDE_DIR})
  if(NCCL_LIBRARY_FILE)
    get_filename_component(NCCL_LIBRARY_DIR ${NCCL_LIBRARY_FILE} DIRECTORY)
  endif()
endif()
