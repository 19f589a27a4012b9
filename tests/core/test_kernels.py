"""The cache of compiled kernels: keyed by the sources, and found again by the next process."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import structlearn
from structlearn.cli import app
from structlearn.core.kernel_cache import files as kernel_files
from structlearn.core.kernel_cache.folders import forget_old_folders, make_private_folder

FOLDER = "from structlearn.core.kernel_cache.cache import cache_folder; print(cache_folder())"
ANSWER = """
import json, numpy as np
from structlearn.structures import Simplex
from structlearn.structures.base import maximize_rows
vertex = Simplex(3).maximize(np.array([0.0, 2.0, 1.0]))
stats = maximize_rows.stats
print(json.dumps([vertex.tolist(), sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]))
"""
COMPILED, FOUND = [[0, 1, 0], 0, 1], [[0, 1, 0], 1, 0]


@pytest.fixture
def package(tmp_path):
    """A copy of the package, free to be edited."""
    copy = tmp_path / "src" / "structlearn"
    shutil.copytree(Path(structlearn.__file__).parent, copy)
    return copy


@pytest.fixture
def start(tmp_path, package):
    """Run code with the copied package and a cache of its own."""

    def start_code(code, cache=tmp_path / "cache", **more):
        environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "STRUCTLEARN_CACHE": str(cache),
            **more,
        }
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )

    return start_code


@pytest.fixture(scope="session")
def answered(tmp_path_factory):
    """A cache that one process has answered with."""
    cache = tmp_path_factory.mktemp("answered")
    environment = {**os.environ, "STRUCTLEARN_CACHE": str(cache)}
    subprocess.run([sys.executable, "-c", ANSWER], capture_output=True, env=environment, check=True)
    return cache


@pytest.fixture
def filled(answered, tmp_path):
    """A copy of it, where `start` looks."""
    shutil.copytree(answered, tmp_path / "cache")


@pytest.fixture
def run(start):
    """As `start`; what the code prints."""
    return lambda *given, **more: start(*given, **more).stdout.strip()


def files(tmp_path, ending):
    return [path for path in (tmp_path / "cache" / "kernels").rglob("*") if path.name.endswith(ending)]


def edit(path, old="", new="# edited\n"):
    path.write_text(path.read_text().replace(old, new, 1) if old else path.read_text() + new)


def test_the_folder_follows_the_compiled_sources(run, package, tmp_path):
    before = run(FOLDER)
    assert Path(before).parent == tmp_path / "cache" / "kernels"
    edit(package / "metrics.py")
    assert run(FOLDER) == before  # nothing compiled there
    edit(package / "structures" / "chain" / "viterbi.py")
    after = run(FOLDER)
    assert after != before
    edit(package / "core" / "kernels.py")
    assert run(FOLDER) != after


def test_each_solver_has_a_folder_of_its_own_imports(run, package):
    folders = "from structlearn.core.kernel_cache.source_hash import PACKAGE, source_hash\n" + "".join(
        f"print(source_hash(PACKAGE / 'solvers' / '{name}.py'))\n"
        for name in ("bcfw/exact_pass", "first_order/lbfgs")
    )
    before = run(folders).split()
    edit(package / "solvers" / "bcfw" / "totals.py")  # constants that exact_blocks imports
    after = run(folders).split()
    assert after[0] != before[0]
    assert after[1] == before[1]
    edit(package / "scoring" / "parts" / "parts.py")  # answers that are compiled into both
    assert not set(run(folders).split()) & set(after)


def test_the_next_process_finds_what_was_compiled(run):
    assert json.loads(run(ANSWER)) == COMPILED
    assert json.loads(run(ANSWER)) == FOUND


def test_kernels_are_plain_njit_functions_with_a_numba_that_was_not_tried(run, tmp_path):
    """The fallback of `core.dispatchers`; what it compiles answers alike."""
    kinds = "from structlearn.structures.base import maximize_rows; print(type(maximize_rows).__name__)\n"
    code = kinds + "import numpy as np\nfrom structlearn.structures import Simplex\n"
    code += (
        "print(Simplex(3).maximize(np.array([0.0, 2.0, 1.0])), Simplex(3).project(np.array([0.5, 2.0, 1.8])))"
    )
    lean = run(code).splitlines()
    plain = run(code, cache=tmp_path / "plain", STRUCTLEARN_PLAIN_NJIT="1")
    assert lean[0] == "EntryDispatcher"
    assert plain.splitlines() == ["CPUDispatcher", *lean[1:]]


def test_what_is_compiled_for_a_record_of_the_user_troubles_no_other_process(run, package):
    module = package.parent / "mine.py"
    module.write_text("from typing import NamedTuple\nclass Mine(NamedTuple):\n    size: int\n")
    use = "import numpy as np; from structlearn.structures.regularized import no_omega; x = np.zeros(1);"
    use += "print(no_omega(record, (1, 1), x, x, 0, x, 0.0))"
    assert run("import mine; record = mine.Mine(3);" + use) == "0.0"
    module.unlink()
    assert run("from structlearn.structures import Simplex; record = Simplex(3).record;" + use) == "0.0"


@pytest.mark.usefixtures("filled")
def test_an_edited_kernel_is_compiled_anew(run, package):
    assert json.loads(run(ANSWER)) == FOUND
    edit(
        package / "structures" / "flat" / "simplex.py",
        "if theta[k] > theta[best]",
        "if theta[k] < theta[best]",
    )
    assert json.loads(run(ANSWER))[0] == [1, 0, 0]


def test_without_a_place_to_write_kernels_still_compile(run, tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert json.loads(run(ANSWER, cache=tmp_path / "file"))[0] == [0, 1, 0]


def kept_folder(path):
    """A folder of the cache with the files of one function."""
    make_private_folder(path)
    kernel_files.CheckedFiles(path, "kernel", "stamp").save("a", b"machine code")
    return path


def test_old_folders_are_forgotten(run, tmp_path):
    old, recent = (kept_folder(tmp_path / "cache" / "kernels" / (digit * 16)) for digit in "0a")
    os.utime(old, (0, 0))
    run(FOLDER)
    assert len(list(recent.glob("*.nbc"))) == 1
    assert not old.exists()


def rename(folder):
    return folder.rename(folder.with_name("thesis"))


def with_a_file(folder):
    (folder / "thesis.tex").write_text("years of work")
    return folder


def with_a_folder(folder):
    (folder / "thesis.nbi").mkdir()
    return folder


def unmarked(folder):
    (folder / "CACHEDIR.TAG").unlink()
    return folder


def marked_by_another(folder):
    (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n# another program\n")
    return folder


def behind_a_link(folder):
    moved = folder.rename(folder.parents[1] / "elsewhere")
    folder.symlink_to(moved)
    return moved


def with_a_link(folder):
    (folder.parent / "thesis.tex").write_text("years of work")
    (folder / "thesis.nbi").symlink_to(folder.parent / "thesis.tex")
    return folder


@pytest.mark.parametrize(
    "change",
    [rename, with_a_file, with_a_folder, unmarked, marked_by_another, behind_a_link, with_a_link],
)
def test_what_others_put_beside_the_cache_stays(tmp_path, change):
    folder = change(kept_folder(tmp_path / "kernels" / ("0" * 16)))
    for path in (folder, *(tmp_path / "kernels").iterdir()):
        os.utime(path, (0, 0), follow_symlinks=False)
    before = sorted(tmp_path.rglob("*"))
    forget_old_folders(tmp_path / "kernels")
    assert sorted(tmp_path.rglob("*")) == before


def test_kernels_are_compiled_where_numba_was_told_not_to_and_it_is_said(start):
    done = start(ANSWER, NUMBA_DISABLE_JIT="1")
    assert json.loads(done.stdout) == COMPILED
    assert "NUMBA_DISABLE_JIT is set, but structlearn does not run without" in done.stderr


# ---- what is wrong with a cache costs a compilation -----------------------------------------------------

#: What unpickling the file would do.
EXPLOSIVE = """
import pickle, sys
class Bomb:
    def __reduce__(self):
        return print, ("BOOM",)
sys.stdout.buffer.write(pickle.dumps(Bomb(), protocol=0))
"""


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def plant(path):
    code = subprocess.run([sys.executable, "-c", EXPLOSIVE], capture_output=True, check=True).stdout
    path.write_bytes(code)


def open_to_others(path):
    path.chmod(0o666)


def make_folder_of(path):
    path.unlink()
    path.mkdir()


@pytest.fixture
def kept(tmp_path):
    """The files of one function, and what they hold."""
    found = kernel_files.CheckedFiles(tmp_path, "kernel", "stamp")
    found.save("a", b"machine code")
    found.save("b", b"other code")
    return found


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage", [truncate, empty, flip, plant, open_to_others, make_folder_of, Path.unlink]
)
def test_a_damaged_file_holds_nothing(kept, tmp_path, capfd, ending, damage):
    assert kept.load("a") == b"machine code"
    for path in tmp_path.glob(f"*.{ending}"):
        damage(path)
    assert kept.load("a") is None
    assert capfd.readouterr().out == ""  # nothing was unpickled
    if damage is not make_folder_of:
        kept.save("a", b"machine code")
        assert kept.load("a") == b"machine code"


def test_machine_code_of_another_signature_is_no_answer(kept, tmp_path):
    """What processes that write at once could leave, if files were only numbered."""
    one, other = tmp_path.glob("*.nbc")
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert kept.load("a") is None
    assert kept.load("b") is None


@pytest.mark.parametrize("stamp", ["other sources", "other Numba"])
def test_what_others_compiled_is_no_answer(kept, tmp_path, monkeypatch, stamp):
    if stamp == "other Numba":
        monkeypatch.setattr(kernel_files.numba, "__version__", "0.0")
        stamp = "stamp"
    assert kernel_files.CheckedFiles(tmp_path, "kernel", stamp).load("a") is None


@pytest.mark.usefixtures("filled")
def test_a_damaged_cache_costs_a_compilation(run, tmp_path):
    for path in [*files(tmp_path, "nbi")[::2], *files(tmp_path, "nbc")]:
        truncate(path)
    assert json.loads(run(ANSWER)) == COMPILED
    assert json.loads(run(ANSWER)) == FOUND


def test_a_full_disk_costs_the_next_process_a_compilation(run, tmp_path):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nimport signal\n"
    full += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    assert json.loads(run(full + ANSWER)) == COMPILED
    assert [path.name for path in files(tmp_path, "") if path.is_file()] == []
    assert json.loads(run(ANSWER)) == COMPILED


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.usefixtures("filled")
def test_a_folder_that_others_may_write_to_is_not_used(start, tmp_path):
    (folder,) = {path.parent for path in files(tmp_path, "nbi")}
    folder.chmod(0o777)
    before = sorted(folder.iterdir())
    done = start(
        "from structlearn.core.kernel_cache.compilation import announce_compilation\n"
        "now = announce_compilation(); now.__enter__()"
        f"\n{ANSWER}"
    )
    assert json.loads(done.stdout) == COMPILED
    assert f"the cache {folder} is not used" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(folder.iterdir()) == before
    folder.chmod(0o755)
    assert json.loads(start(ANSWER).stdout) == FOUND


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_files_are_the_users_own_whatever_the_umask(run, tmp_path):
    run(f"import os; os.umask(0)\n{ANSWER}")
    kept = files(tmp_path, "")
    assert len(kept) > 2
    assert not any(path.stat().st_mode & 0o022 for path in kept)
    assert json.loads(run(ANSWER)) == FOUND


@pytest.mark.skipif(os.name != "posix", reason="users")
def test_files_of_other_users_are_not_trusted():
    def found(user, mode):
        return os.stat_result((mode, 0, 0, 1, user, 0, 0, 0, 0, 0))

    me = os.geteuid()
    assert kernel_files._is_ours(found(me, 0o644))
    assert kernel_files._is_ours(found(0, 0o755))
    assert not kernel_files._is_ours(found(me + 1, 0o644))
    assert not kernel_files._is_ours(found(me, 0o664))
    assert not kernel_files._is_ours(found(me, 0o646))


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize(
    ("mode", "is_trusted"), [(0o755, True), (0o777, False), (0o757, False), (0o1777, True), (0o775, None)]
)
@pytest.mark.parametrize("there", [True, False])
def test_folders_above_the_cache_are_looked_at(tmp_path, mode, is_trusted, there, monkeypatch):
    """Where others may rename the cache they can put another one in its place; not in a sticky folder."""
    above = tmp_path / "above"
    (above / "cache").mkdir(0o755, parents=True)
    (tmp_path / "link").symlink_to(above)
    above.chmod(mode)
    for alone in (True, False):
        monkeypatch.setattr(kernel_files, "_is_own", lambda group, alone=alone: alone)
        for way in (above, tmp_path / "link"):
            kernel_files._stays.cache_clear()
            found = kernel_files.is_trusted(way / "cache" if there else way / "cache" / "new" / "one")
            assert found == (alone if is_trusted is None else is_trusted)


@pytest.mark.skipif(os.name != "posix", reason="users")
def test_links_of_other_users_are_not_followed():
    def found(user, mode):
        return os.stat_result((mode, 0, 0, 1, user, 0, 0, 0, 0, 0))

    me = os.geteuid()
    assert kernel_files._keeps_entries(found(me, stat.S_IFLNK | 0o777))
    assert not kernel_files._keeps_entries(found(me + 1, stat.S_IFLNK | 0o777))
    assert not kernel_files._keeps_entries(found(me + 1, stat.S_IFDIR | 0o1777))


@pytest.mark.usefixtures("filled")
def test_a_cache_that_can_only_be_read_is_read(run, tmp_path):
    for path in (tmp_path / "cache").rglob("*"):
        path.chmod(0o555)
    try:
        assert json.loads(run(ANSWER)) == FOUND
    finally:
        for path in (tmp_path / "cache").rglob("*"):
            path.chmod(0o755)


WRITER = """
import sys
from pathlib import Path
from structlearn.core.kernel_cache.files import CheckedFiles
kept = CheckedFiles(Path(sys.argv[1]), "kernel", "stamp")
for k in range(60):
    key = (int(sys.argv[2]), k % 5)
    found = kept.load(key)
    assert found is None or found == [key] * 1000
    kept.save(key, [key] * 1000)
"""


def test_many_processes_may_write_at_once(tmp_path):
    """What is found is right, no entry is lost to another's writing, and nothing is left over."""
    started = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(k)], stderr=subprocess.PIPE)
        for k in range(4)
    ]
    for process in started:
        assert process.communicate()[1] == b""
    assert not list(tmp_path.glob("*.part"))
    assert len(list(tmp_path.glob("*.nbi"))) == 1
    kept = kernel_files.CheckedFiles(tmp_path, "kernel", "stamp")
    assert all(kept.load((k, j)) is not None for k in range(4) for j in range(5))


def test_checked_bounds_have_a_folder_of_their_own(run):
    assert run(FOLDER) != run(FOLDER, NUMBA_BOUNDSCHECK="1")


# ---- what is said of it ---------------------------------------------------------------------------------

COUNTED = """
import sys
from numba.core import event
from structlearn.cli import app

class Count(event.Listener):
    n = 0
    def on_start(self, event):
        self.n += 1
    def on_end(self, event):
        pass

count = Count()
with event.install_listener("numba:compile", count):
    app({command!r}, standalone_mode=False)
print("compiled", count.n)
"""


def test_the_shell_says_so_if_and_only_if_something_is_compiled(start, tmp_path):
    data, model = tmp_path / "data.csv", tmp_path / "model.safetensors"
    data.write_text("a,b,y\n" + "1,0,p\n0,1,q\n" * 5)
    train = ["train", "classify", str(data), "--out", str(model), "--loss", "softmax"]
    assert CliRunner().invoke(app, train).exit_code == 0
    predict = ["predict", str(model), str(data), "--marginals"]
    counts = []
    for command in (predict, predict):
        done = start(COUNTED.format(command=command))
        counts.append(int(done.stdout.split()[-1]))
        said = done.stderr.count("structlearn: compiling for the first use (cached afterwards) ...")
        assert said == (counts[-1] > 0)
    assert counts[0] > 0
    assert counts[1] == 0
