"""What neartag asks of any encoder, as tests: subclass EncoderContract and say what to make and what it reads."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from neartag import X1Classifier, store
from neartag.core.errors import NeartagError
from neartag.encoders.base import check_encoder, make_document, read_items
from neartag.encoders.registry import ENCODERS


def dense(rows: Any) -> np.ndarray:
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


class EncoderContract:
    """Give `encoder`, unfitted, and `items`, at least six of what it reads, as fixtures."""

    @pytest.fixture
    def encoder(self):
        raise NotImplementedError

    @pytest.fixture
    def items(self):
        raise NotImplementedError

    def test_it_is_found_by_its_name(self, encoder):
        check_encoder(encoder)
        check_encoder(type(encoder))
        assert ENCODERS.get(encoder.kind) is type(encoder)
        assert encoder.kind in ENCODERS.names()

    def test_it_reads_its_part_of_a_document(self, encoder, items):
        documents = [make_document(encoder, item, ["a"], None, "") for item in items]
        for item, read in zip(items, read_items(encoder, documents), strict=True):
            assert read is item

    def test_rows_are_float32_one_for_each_item(self, encoder, items):
        assert encoder.fit(items) is encoder
        rows = encoder.transform(items)
        assert rows.shape == (len(items), encoder.n_features)
        assert rows.dtype == np.float32
        assert np.isfinite(dense(rows)).all()
        assert dense(rows).any()
        if sparse.issparse(rows):
            assert rows.format == "csr"
            assert rows.has_canonical_format

    def test_fit_transform_is_fit_and_transform(self, encoder, items):
        at_once = dense(encoder.fit_transform(items))
        np.testing.assert_array_equal(dense(encoder.transform(items)), at_once)
        np.testing.assert_array_equal(dense(encoder.fit(items).transform(items)), at_once)

    def test_items_may_come_one_by_one(self, encoder, items):
        expected = dense(encoder.fit_transform(items))
        np.testing.assert_array_equal(dense(encoder.fit_transform(item for item in items)), expected)
        np.testing.assert_array_equal(dense(encoder.transform(iter(items))), expected)

    def test_a_row_does_not_depend_on_other_items(self, encoder, items):
        rows = dense(encoder.fit_transform(items))
        for item, row in zip(items, rows, strict=True):
            np.testing.assert_array_equal(dense(encoder.transform([item]))[0], row)
        np.testing.assert_array_equal(dense(encoder.transform(items[::-1])), rows[::-1])

    def test_no_items_no_rows(self, encoder, items):
        encoder.fit(items)
        assert encoder.transform([]).shape == (0, encoder.n_features)

    def test_before_fit_it_says_so(self, encoder, items):
        for use in (lambda: encoder.transform(items), encoder.to_state, lambda: encoder.n_features):
            with pytest.raises(NeartagError, match="fit"):
                use()

    def test_what_cannot_be_read_is_refused(self, encoder, items):
        encoder.fit(items)
        for bad in (object(), None):
            with pytest.raises(NeartagError):
                encoder.transform([bad])

    def test_its_state_is_json_and_arrays(self, encoder, items):
        rows = dense(encoder.fit_transform(items))
        settings, arrays = encoder.to_state()
        for array in arrays.values():
            array = np.asarray(array)
            array.flags.writeable = False
        again = type(encoder).from_state(json.loads(json.dumps(settings)), arrays)
        assert again.n_features == encoder.n_features
        np.testing.assert_array_equal(dense(again.transform(items)), rows)
        assert again.to_state()[0] == settings

    def test_a_state_that_is_none_is_refused(self, encoder):
        # The store makes one ModelError of any of these.
        with pytest.raises((NeartagError, LookupError, TypeError, ValueError)):
            type(encoder).from_state({}, {})

    def test_it_goes_through_a_model_folder(self, encoder, items, tmp_path):
        rows = encoder.fit_transform(items)
        Y = np.eye(len(items), 2, dtype=np.float32)
        model = X1Classifier(n_clusters=1, embedding_dim=2, n_jobs=1).fit(rows, Y).model_
        store.save(model, tmp_path, features=encoder)
        assert store.inspect(tmp_path)["features"] == encoder.kind
        again = store.load(tmp_path).features
        assert type(again) is type(encoder)
        np.testing.assert_array_equal(dense(again.transform(items)), dense(rows))

    def test_it_can_be_pickled(self, encoder, items):
        rows = dense(encoder.fit_transform(items))
        again = pickle.loads(pickle.dumps(encoder))
        np.testing.assert_array_equal(dense(again.transform(items)), rows)

    def test_terms_name_every_column_of_a_row(self, encoder, items):
        if not hasattr(encoder, "terms_of"):
            pytest.skip("it names no terms")
        rows = sparse.csr_matrix(encoder.fit_transform(items))
        for number, item in enumerate(items):
            terms = encoder.terms_of(item)
            assert all(isinstance(term, str) for term, _ in terms)
            columns = {column for _, column in terms}
            assert columns <= {-1, *range(encoder.n_features)}
            assert set(rows[number].indices.tolist()) <= columns
