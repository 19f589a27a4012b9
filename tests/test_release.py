"""The version, the dependencies and the changelog are the same wherever they are written."""

import re
import tomllib
from importlib import util
from pathlib import Path

import structlearn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RECIPE = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
#: What conda calls otherwise.
CONDA = {"matplotlib": "matplotlib-base"}


def found(pattern, text):
    """The one place where the pattern is, and what it holds."""
    (one,) = re.findall(pattern, text, re.MULTILINE)
    return one


def test_one_version():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "structlearn.__version__"}
    assert found(r'set version = "(.*?)"', RECIPE) == structlearn.__version__
    assert found(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text()) == structlearn.__version__


def test_the_changelog_and_the_citation_have_its_date():
    changes = (ROOT / "CHANGELOG.md").read_text()
    released = found(rf"^## {re.escape(structlearn.__version__)} \((\d{{4}}-\d\d-\d\d)\)$", changes)
    assert found(r"^date-released: (.*)$", (ROOT / "CITATION.cff").read_text()) == released
    assert changes.index("## Unreleased") < changes.index(f"## {structlearn.__version__}")


def test_the_recipe_of_conda_asks_for_the_same():
    asked = {}
    extras = PROJECT["project"]["optional-dependencies"]
    for one in [*PROJECT["project"]["dependencies"], *extras["shell"]]:  # conda has no extras
        name, least = one.split(">=")
        asked[CONDA.get(name, name)] = least
    run = RECIPE.partition("  run:\n")[2].partition("\n\n")[0]
    in_recipe = dict(re.findall(r"- ([\w-]+) >=(.*)", run))
    assert in_recipe.pop("python") == PROJECT["project"]["requires-python"].removeprefix(">=")
    assert in_recipe == asked
    entry = PROJECT["project"]["scripts"]["structlearn"]
    assert found(r"- structlearn = (.*)$", RECIPE) == entry
    assert f"setuptools >={PROJECT['build-system']['requires'][0].split('>=')[1]}" in RECIPE


def test_slowdowns_are_read_off_what_the_race_prints():
    spec = util.spec_from_file_location("track", ROOT / "benchmarks" / "track.py")
    track = util.module_from_spec(spec)
    spec.loader.exec_module(track)
    printed = (
        "AMD EPYC\nletters-hinge: median ratio 1.250 (1.20 1.25)\n  other: 0.20 s\ndigits: median ratio 0.9\n"
    )
    assert track.ratios(printed) == {"letters-hinge": 1.25, "digits": 0.9}
