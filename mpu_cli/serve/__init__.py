"""``mpu serve``: answer HTTP requests with a model (extra ``serve``)."""
