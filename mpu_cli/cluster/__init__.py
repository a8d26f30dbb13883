"""Training and prediction on the workers of a Dask cluster: the extra `cluster`."""
