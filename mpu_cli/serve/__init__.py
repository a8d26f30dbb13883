"""``mpu serve``: a model that answers HTTP requests, with the extra ``serve``."""
