"""What every part runs on: threads, memory, files, signals, kernels. It knows nothing of learning."""
