"""The algorithm of the paper: level by level, on one machine or on parts."""
