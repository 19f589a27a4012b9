"""One sentence at a time: milliseconds in process, and those of the service of docs/deploying.md.

python benchmarks/serving.py

Taggers of `structlearn example tag` and `ner` label a sentence of 13 tokens 300 times, one call per sentence.
Then uvicorn serves the page's `service.py` on the loopback, and 8 clients at a time send 100 texts each.
Needs fastapi and uvicorn.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median, quantiles

from common import machine, note, recorded

TEXT = "Maria Stone sold her old boat to the Harbour Bank in Hamburg ."
CLIENTS, REQUESTS = 8, 100
PAGE = Path(__file__).resolve().parents[1] / "docs" / "deploying.md"
MEASURE = f"""
import json, sys, time
begin = time.perf_counter()
from structlearn import Tagger
tagger, sentence = Tagger.load(sys.argv[1]), {TEXT!r}.split()
tagger.predict([sentence])
first = time.perf_counter() - begin
walls, cpus = [], []
for _ in range(300):
    wall, cpu = time.perf_counter(), time.process_time()
    tagger.predict([sentence])
    walls.append(1e3 * (time.perf_counter() - wall))
    cpus.append(1e3 * (time.process_time() - cpu))
peak = next(int(line.split()[1]) for line in open('/proc/self/status') if line.startswith('VmHWM')) / 1e3
print(json.dumps([first, sorted(walls)[150], sorted(cpus)[150], peak]))
"""


def make_models(folder):
    """Train on the shipped examples."""
    for task in ("tag", "ner"):
        for words in (
            ["example", task, "--out", task],
            ["train", task, f"{task}/train.conll", "--out", f"{task}.safetensors"],
        ):
            subprocess.run(
                [sys.executable, "-m", "structlearn", *words], cwd=folder, check=True, capture_output=True
            )


def in_process(task, folder):
    command = [sys.executable, "-c", MEASURE, f"{task}.safetensors"]
    first, wall, cpu, peak = json.loads(
        subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
    )
    note(
        what=f"{task}, in process", first_answer_seconds=first, median_ms=wall, cpu_ms=cpu, p90_ms=None,
        requests_per_second=None, peak_mb=peak,
    )  # fmt: skip
    print(f"{task}: {first:.2f} s to the first answer, {wall:.2f} ms ({cpu:.2f} of CPU), {peak:.0f} MB")


def serve(folder):
    """Write the service of the page, start it, and wait until it answers."""
    source = re.search(r":caption: service.py\n\n(.*?)^```", PAGE.read_text(), re.M | re.S)[1]
    (folder / "service.py").write_text(source.replace("names.safetensors", "ner.safetensors"))
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", "service:app", "--port", str(port), "--log-level", "error"],
        cwd=folder,
        env={**os.environ},
    )
    for _ in range(300):
        try:
            ask(port, 1)
            return server, port
        except OSError:
            time.sleep(0.1)
    server.kill()
    raise RuntimeError("the service did not start")


def ask(port, times):
    """Wall milliseconds of as many requests, one after the other."""
    client = http.client.HTTPConnection("127.0.0.1", port)
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        client.request("POST", "/tag", json.dumps({"text": TEXT}), {"Content-Type": "application/json"})
        answer = client.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()
        found.append(1e3 * (time.perf_counter() - begin))
    return found


def served(folder):
    begin = time.perf_counter()
    server, port = serve(folder)
    first = time.perf_counter() - begin
    try:
        for clients in (1, CLIENTS):
            begin = time.perf_counter()
            with ThreadPoolExecutor(clients) as pool:
                times = [
                    one for all_ in pool.map(ask, [port] * clients, [REQUESTS] * clients) for one in all_
                ]
            rate = clients * REQUESTS / (time.perf_counter() - begin)
            status = Path(f"/proc/{server.pid}/status").read_text()
            peak = int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1e3
            late = quantiles(times, n=10)[-1]
            note(
                what=f"ner, served to {clients} client{'s' * (clients > 1)}", first_answer_seconds=first,
                median_ms=median(times), cpu_ms=None, p90_ms=late, requests_per_second=rate, peak_mb=peak,
            )  # fmt: skip
            print(f"{clients} clients: {median(times):.1f} ms (p90 {late:.1f}), {rate:.0f}/s, {peak:.0f} MB")
    finally:
        server.terminate()
        server.wait()


def main():
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_models(folder)
        for task in ("tag", "ner"):
            in_process(task, folder)
        served(folder)


if __name__ == "__main__":
    recorded(main, peers=["fastapi", "uvicorn"])
