"""One problem of positive and unlabelled instances for each label: Elkan and Noto 2008."""
