# Finds cuDNN 9 beside the CUDA toolkit, in $CUDNN_ROOT or in cuDNN_ROOT: cuDNN::cuDNN, cuDNN_VERSION.
find_path(cuDNN_INCLUDE_DIR cudnn_graph.h HINTS ENV CUDNN_ROOT ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
# pip's packages have no libcudnn.so: the first folder with either, lest a system's library comes to CUDNN_ROOT's header.
find_library(cuDNN_LIBRARY NAMES cudnn libcudnn.so.9 NAMES_PER_DIR HINTS ENV CUDNN_ROOT ${CUDAToolkit_LIBRARY_DIR}
  PATH_SUFFIXES lib lib64)
mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY)

set(version_file ${cuDNN_INCLUDE_DIR}/cudnn_version.h)
if(cuDNN_INCLUDE_DIR AND EXISTS ${version_file})
  file(STRINGS ${version_file} lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]+")
  string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
  string(REPLACE ";" "." cuDNN_VERSION "${numbers}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(cuDNN REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR VERSION_VAR cuDNN_VERSION)
if(cuDNN_FOUND AND NOT TARGET cuDNN::cuDNN)
  add_library(cuDNN::cuDNN UNKNOWN IMPORTED)
  set_target_properties(cuDNN::cuDNN PROPERTIES
    IMPORTED_LOCATION ${cuDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${cuDNN_INCLUDE_DIR})
endif()
