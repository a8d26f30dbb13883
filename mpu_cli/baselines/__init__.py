"""The methods that the paper compares with: arrays in, model objects out."""
