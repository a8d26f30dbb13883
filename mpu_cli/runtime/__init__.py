"""The base of all other packages: options, threads, memory, files, signals, kernels; nothing about learning."""
