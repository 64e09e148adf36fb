# 64-bit ARM by Debian's cross compiler (g++-aarch64-linux-gnu); RONDE_ARM64_ROOT has the libraries for it.
#
#     cmake -S . -B build-arm64 --toolchain tests/arm64/toolchain.cmake -DRONDE_ARM64_ROOT=/srv/arm64 -DRONDE_WITH_CUDA=OFF
set(RONDE_ARM64_ROOT "" CACHE PATH "root file system of Debian for arm64")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RONDE_ARM64_ROOT)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${RONDE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH ${RONDE_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# These two are asked through a compiler of their own, which would answer for this machine.
set(libraries ${RONDE_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
set(HDF5_C_LIBRARY_hdf5 ${libraries}/hdf5/serial/libhdf5.so CACHE FILEPATH "")
set(HDF5_C_INCLUDE_DIR ${RONDE_ARM64_ROOT}/usr/include/hdf5/serial CACHE PATH "")
set(MPI_CXX_LIB_NAMES mpi CACHE STRING "")
set(MPI_mpi_LIBRARY ${libraries}/openmpi/lib/libmpi.so CACHE FILEPATH "")
set(MPI_CXX_HEADER_DIR ${libraries}/openmpi/include CACHE PATH "")
