"""The service of docs/deploying.md, asked by eight clients at a time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from blocks import ROOT, blocks

from structlearn import Tagger

SENTENCES = [["Ann", "left", "Rome", "."], ["Bob", "saw", "Ann", "."], ["Rome", "is", "old", "."]] * 6
LABELS = [["PER", "O", "LOC", "O"], ["PER", "O", "PER", "O"], ["LOC", "O", "O", "O"]] * 6


def test_it_answers_all_clients_as_the_tagger_does(tmp_path, monkeypatch):
    pytest.importorskip("fastapi")
    testing = pytest.importorskip("fastapi.testclient")
    monkeypatch.chdir(tmp_path)
    tagger = Tagger(random_state=0).fit(SENTENCES, LABELS)
    tagger.save("names.safetensors")
    (source,) = [
        one.text for one in blocks(ROOT / "docs" / "deploying.md") if ":caption: service.py" in one.text
    ]
    assert len([line for line in source.splitlines() if line.strip()]) <= 20
    names = {}
    exec(source.partition("\n")[2], names)  # noqa: S102  (our own page)
    texts = [f"{('Ann', 'Bob', 'Rome')[k % 3]} saw the {k} ships of Rome." for k in range(80)]
    expected = [
        [[[one.token, one.label] for one in sentence] for sentence in tagger.tag(text)] for text in texts
    ]
    with testing.TestClient(names["app"]) as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: client.post("/tag", json={"text": text}), texts))
        refused = client.post("/tag", json={"text": "x" * 10_001})
    assert [one.json() for one in answers] == expected
    assert refused.status_code == 422
