"""The base of all other packages: options, threads, memory, files, signals, kernels; nothing of learning."""
