"""Public alias of `neartag.tagging.on_dask`: training and prediction on a Dask cluster."""

from neartag.tagging.on_dask import predict, train

__all__ = ["predict", "train"]
