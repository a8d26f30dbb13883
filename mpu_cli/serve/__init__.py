"""``mpu serve``: a model that answers HTTP requests. It needs the extra ``serve``."""
