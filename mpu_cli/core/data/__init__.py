"""What everything in `core` computes with: features, predictions, sparse weights, and limits of memory and numbers."""
