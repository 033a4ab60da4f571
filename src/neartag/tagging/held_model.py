"""What a tagger holds: a stored model, its calibration, and where its documents stand."""

from __future__ import annotations

from neartag.core.errors import NeartagError
from neartag.storage.bundle import StoredModel
from neartag.tagging import calibration as calibrations
from neartag.tagging.calibration import Calibration
from neartag.tagging.restricted import RestrictedModels
from neartag.tagging.update import number_points
from neartag.vocabulary.concepts import Vocabulary


class HeldModel:
    """A model that is there or not yet; taggers answer from it and change it."""

    def __init__(self) -> None:
        self._stored: StoredModel | None = None
        self._calibration: Calibration | None = None
        self._rows_by_id: dict[str, int] | None = None  # made when it is first needed, and kept up to date then
        self._restricted = RestrictedModels()

    @property
    def stored(self) -> StoredModel:
        """The model with its names, encoder and texts."""
        return self._check_fitted()

    @property
    def labels(self) -> list[str]:
        """Every label's name; labels of added documents come last."""
        return list(self.stored.label_names or [])

    @property
    def vocabulary(self) -> Vocabulary | None:
        """What the labels mean, and which names lead to them; None where nothing tells."""
        return self.stored.vocabulary

    @property
    def calibration(self) -> Calibration | None:
        """What turns scores into probabilities; None where nothing does."""
        self._check_fitted()
        return self._calibration

    def __len__(self) -> int:
        return int(self.stored.model.n_points)

    def __contains__(self, name: object) -> bool:
        return name in self._row_of

    def _check_fitted(self) -> StoredModel:
        if self._stored is None:
            raise NeartagError("this TextTagger has not learned anything yet: call fit(texts, labels) first")
        return self._stored

    def _take(self, stored: StoredModel) -> None:
        """Tag with this model from now on."""
        self._stored, self._rows_by_id = stored, None
        self._calibration = calibrations.from_extras(stored.extras)

    @property
    def _row_of(self) -> dict[str, int]:
        if self._rows_by_id is None:
            self._rows_by_id = number_points(self.stored)
        return self._rows_by_id
