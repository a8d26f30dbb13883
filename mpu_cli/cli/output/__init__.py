"""What the commands print: messages, progress and reports, on two streams that may fail."""
