"""What is known of labels beside annotations: verdicts of people, implications, their names."""
