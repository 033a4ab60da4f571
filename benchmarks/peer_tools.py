"""Tools for extreme classification from PyPI, each used as its own guide says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from peer_method import Method, best, padded, unit
from peer_settings import K
from scipy.sparse import csr_matrix

_PECOS_PREDICTION = ("beam_size", "post_processor")


class Omikuji(Method):
    module, package = "omikuji", "omikuji"
    notes = "reads the training file itself; its Python package predicts a point a call, batches too"
    reads_file = True

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path | None) -> Any:
        # What Model.train_on_data does, in its two steps, so that reading is not counted as training.
        from omikuji import _ThreadPoolHandle, ffi, lib

        pool = _ThreadPoolHandle(self.threads, initialize=True)
        data = lib.load_omikuji_data_set(ffi.new("char[]", str(file).encode()), pool.ptr)
        if data == ffi.NULL:
            raise RuntimeError("omikuji cannot read the training file")
        return ffi.gc(data, lib.free_omikuji_data_set), pool

    def fit(self, given: Any, folder: Path) -> None:
        from omikuji import Model, ffi, lib

        data, pool = given
        hyper_param = Model.default_hyper_param()
        for name, value in self.settings.items():
            if name != "beam_size":  # that is for prediction
                setattr(hyper_param, name, value)
        model = lib.train_omikuji_model(data, hyper_param, pool.ptr)
        if model == ffi.NULL:
            raise RuntimeError("omikuji failed to train")
        self.model = Model(model, pool)

    def save(self, folder: Path) -> None:
        self.model.save(str(folder))

    def load(self, folder: Path) -> None:
        from omikuji import Model

        self.model = Model.load(str(folder))
        self.model.init_prediction_thread_pool(self.threads)

    def test_input(self, X: csr_matrix) -> Any:
        ids, values, ends = X.indices.tolist(), X.data.tolist(), X.indptr.tolist()
        return [list(zip(ids[a:b], values[a:b], strict=True)) for a, b in pairwise(ends)]

    def predict(self, given: Any) -> Any:
        return [self.model.predict(pairs, top_k=K, **self.some("beam_size")) for pairs in given]

    def labels(self, found: Any) -> np.ndarray:
        return padded([[label for label, _ in row] for row in found])


class NapkinXC(Method):
    module, package = "napkinxc", "napkinxc"
    notes = "writes its model to disk while it trains: the time of that is in training"
    saves_in_fit = True

    def fit(self, given: Any, folder: Path) -> None:
        from napkinxc.models import PLT

        self.model = PLT(str(folder), threads=self.threads, **self.settings)
        self.model.fit(*given)

    def load(self, folder: Path) -> None:
        from napkinxc.models import PLT

        self.model = PLT(str(folder), threads=self.threads, **self.settings)
        self.model.load()

    def predict(self, given: Any) -> Any:
        return self.model.predict(given, top_k=K)

    def labels(self, found: Any) -> np.ndarray:
        return padded(found)


class Pecos(Method):
    module, package = "pecos", "libpecos"
    notes = "rows scaled to unit length before (it does not do so itself); predicts with its C++ predict-only model"

    def train_input(self, X: csr_matrix, Y: csr_matrix, file: Path | None) -> Any:
        return unit(X), Y, Y.tocsc()  # both forms of Y: its two steps want one each

    def test_input(self, X: csr_matrix) -> Any:
        return unit(X)

    def fit(self, given: Any, folder: Path) -> None:
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        X, Y, Y_columns = given
        label_features = LabelEmbeddingFactory.create(Y, X, method="pifa", threads=self.threads)
        chain = Indexer.gen(label_features, threads=self.threads, **self.some("max_leaf_size", "nr_splits"))
        costs = self.some("Cp", "Cn", "threshold")
        self.model = XLinearModel.train(X, Y_columns, C=chain, threads=self.threads, **costs)

    def save(self, folder: Path) -> None:
        self.model.save(str(folder))

    def load(self, folder: Path) -> None:
        from pecos.xmc.xlinear.model import XLinearModel

        self.model = XLinearModel.load(str(folder), is_predict_only=True)

    def predict(self, given: Any) -> Any:
        return self.model.predict(given, only_topk=K, threads=self.threads, **self.some(*_PECOS_PREDICTION))

    def predict_one(self, given: Any) -> Any:
        # On one thread, as its README does for single points.
        return self.model.predict(given, only_topk=K, threads=1, **self.some(*_PECOS_PREDICTION))

    def labels(self, found: Any) -> np.ndarray:
        return best(found)
