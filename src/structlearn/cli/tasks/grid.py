"""The task `grid`: a label for each pixel of the images in a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from structlearn.cli.tasks.graph import LabelledNodes, known_or_none
from structlearn.cli.tasks.task import Inputs, Training, probability_lines
from structlearn.core.contract import Array
from structlearn.core.forms import count
from structlearn.core.wording import count_of, plain
from structlearn.data import DataError, read_image_folder, write_label_image
from structlearn.data.label_images import ImageFolder, windows
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.feature_names import Names
from structlearn.storage.atomic import make_folder
from structlearn.storage.packed import is_packed
from structlearn.storage.schema import check_form

if TYPE_CHECKING:
    from structlearn.reports import Page

#: How to read images: values of a window around each pixel.
_NOTES = {"format": str, "window": count, "channels": count}


class GridTask(LabelledNodes):
    """Images in a folder (see `structlearn.data.label_images`); a pixel has the values around it."""

    estimator = "GridClassifier"
    packed = "grid"
    labelled = "pixels"
    of_folders = True
    error_name: ClassVar[str] = "share of wrong pixels"

    def training(self, path: Path, target: str | None) -> Training:
        """Read a folder of images, or packed data, whose window is the one it was packed with."""
        if not is_packed(path):
            return self.read(path, target)
        found = super().training(path, target)
        if self.options.window not in (None, found.notes.get("window")):
            raise ValueError(f"--window goes with images; {path} was packed with {found.notes['window']}.")
        return found._replace(texts={})

    def extras_to_pack(self, training: Training) -> dict[str, Any]:
        """Return the names of images as well, where there are images."""
        names = {} if training.source is None else {"names": training.source.names}
        return {**super().extras_to_pack(training), "texts": names}

    def read(self, path: Path, target: str | None) -> Training:
        """Read images and their label images."""
        self.check_target(target)
        found = read_image_folder(path)
        if found.y is None:
            raise DataError(f"{path} has no folder labels to learn from.")
        self.check_classes(path, found.y)
        channels = found.X[0].shape[2]
        window = self.options.window or 1
        X = self._features(path, found, window, channels)
        notes = {"format": "images", "window": window, "channels": channels}
        n_pixels = sum(one.shape[0] * one.shape[1] for one in X)
        pixels = f"{count_of(n_pixels, 'pixel')} with {count_of(X[0].shape[2], 'feature')}"
        summary = f"{count_of(len(X), 'image')}, {pixels}"
        return Training(X, found.y, notes, {}, summary, source=found)

    def inputs(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        if not is_packed(path):
            return self.reread(path, bundle, labels=labels)
        data = self._open_packed(path)
        names = data.texts.get("names", [f"{i}" for i in range(len(data))])
        if len(names) != len(data) or not all(Path(name).name == name for name in names):
            raise DataError(f"{path} is damaged: its names are not the names of {len(data)} files.")
        return Inputs(data.X, data.y, ImageFolder(names, data.X, data.y))

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read images; label images where they are asked for."""
        found = read_image_folder(path, labels=labels)
        X = self._features(path, found, bundle.notes["window"], bundle.notes["channels"])
        return Inputs(X, known_or_none(found.y), found)

    def _features(self, path: Path, folder: ImageFolder, window: int, channels: int) -> list[Array]:
        for name, one in zip(folder.names, folder.X):
            if one.shape[2] != channels:
                raise DataError(
                    f"{path}: the image {name} has {one.shape[2]} values a pixel, not {channels} "
                    "(images must be all grey or all coloured)."
                )
        return [windows(one, window) for one in folder.X]

    def check_notes(self, bundle: Bundle) -> None:
        """Check the window, which must have as many values as the model has features."""
        super().check_notes(bundle)
        check_form(bundle.notes, _NOTES, "notes")
        n = bundle.notes["window"] ** 2 * bundle.notes["channels"]
        if n != bundle.estimator.n_features_in_:
            raise ValueError(
                f"its notes name {n} features, but the model has {bundle.estimator.n_features_in_}"
            )

    def feature_names(self, bundle: Bundle) -> Names:
        """Return the place of a value: its channel, and how far down and right of the pixel it is."""
        if hasattr(bundle.estimator, "row_transformer_"):
            return super().feature_names(bundle)
        side, channels = bundle.notes["window"], bundle.notes["channels"]

        def name(place: int) -> str:
            cell, channel = divmod(place, channels)
            down, right = cell // side - side // 2, cell % side - side // 2
            return f"channel {channel}" + (f" at {down:+d},{right:+d}" if side > 1 else "")

        return lambda places: [name(place) for place in places.tolist()]

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the labels' probabilities, one line per pixel, row by row, an empty line between images."""
        for i, table in enumerate(bundle.estimator.predict_marginals(X)):
            yield from [""] * (i > 0)
            yield from probability_lines(
                bundle.estimator.classes_.tolist(), table.reshape(-1, table.shape[-1])
            )

    def check_out(self, out: Path, others: Iterable[Path], *, marginals: bool) -> Path:
        """Check a folder, which may be there; for probabilities, a file."""
        if marginals:
            return super().check_out(out, others, marginals=marginals)
        taken = (os.path.realpath(one / name) for one in others for name in ("", "images", "labels"))
        if out.exists() and os.path.realpath(out) in taken:
            raise ValueError(f"Cannot write {out}: the command uses this folder already.")
        if out.exists() and not out.is_dir():
            raise ValueError(f"Cannot write {out}: label images go to a folder, and this is a file.")
        return out

    def write(self, bundle: Bundle, inputs: Inputs, out: Path | None, *, marginals: bool) -> None:
        """Label images with the names of the images, in the folder `out`; to stdout one line per image."""
        if out is None or marginals:
            super().write(bundle, inputs, out, marginals=marginals)
            return
        answers = bundle.estimator.predict(inputs.X)
        folder = make_folder(out)
        for name, labels in zip(inputs.source.names, answers):
            write_label_image(folder / f"{name}.png", labels)

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Draw the images beside their labels on a page."""
        from structlearn.reports.image_page import LabelledImage, image_page

        if is_packed(path):
            raise ValueError(f"{path} is packed data, which has no pictures; show draws a folder of images.")
        X, y, source = self.inputs(path, bundle, labels=True)
        answers = bundle.estimator.predict(X)
        golds = [None] * len(answers) if y is None else y
        names = map(plain, source.names)
        shown = [LabelledImage(*one) for one in zip(names, source.X, answers, golds)]
        title = f"Labelled images of {plain(path.name)}"
        return image_page(shown, title=title, limit=limit, summary=self.summary(bundle, y, answers))
