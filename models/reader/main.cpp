// ronde-hdf5-reader: see models/src/keras_file/limited_reader.h.
#include "keras_file/limited_reader.h"

int main(int count, char** arguments) {
  return ronde::run_hdf5_reader(count, arguments);
}
