"""The data of a training, with what stands beside them, as commands and the Python API read them."""
