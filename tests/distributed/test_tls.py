"""Encrypted connections: the user's client, and tls:// addresses with Dask's configuration."""

import shutil
import subprocess

import pytest
from problems import data, estimator, optimum

from structlearn.distributed import connected, connection

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402

ROLES = ("scheduler", "worker", "client")
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The files of a certificate that signs itself, and of its key."""
    folder = tmp_path_factory.mktemp("tls")
    names = folder / "certificate.pem", folder / "key.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    about = ["-subj", "/CN=structlearn", "-addext", "subjectAltName=IP:127.0.0.1"]
    where = ["-out", names[0], "-keyout", names[1]]
    subprocess.run([*request, *about, *where], check=True, capture_output=True)
    return tuple(map(str, names))


@pytest.fixture(scope="module")
def cluster(certificate):
    pem, key = certificate
    files = {f"tls_{role}_{kind}": name for role in ROLES for kind, name in (("cert", pem), ("key", key))}
    security = distributed.Security(tls_ca_file=pem, require_encryption=True, **files)
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tls://",
        security=security,
        dashboard_address="127.0.0.1:0",
        worker_dashboard_address="127.0.0.1:0",
        memory_limit=0,
    ) as found:
        yield found


def check_training(client):
    assert client.scheduler.address.startswith("tls://127.0.0.1:")
    assert all(address.startswith("tls://") for address in client.scheduler_info()["workers"])
    found = estimator("multiclass").fit(*data("multiclass"), client=client)
    assert abs(found.certificate_.dual - optimum("multiclass")) <= 1e-6


def test_the_security_of_a_client_is_used(cluster):
    with distributed.Client(cluster, direct_to_workers=True) as client:
        check_training(client)


def test_addresses_with_tls_take_the_certificates_of_dasks_configuration(cluster, certificate):
    pem, key = certificate
    files = {f"{role}.{kind}": name for role in ROLES for kind, name in (("cert", pem), ("key", key))}
    tls = {f"distributed.comm.tls.{name}": value for name, value in {"ca-file": pem, **files}.items()}
    with dask.config.set(tls), connected(cluster.scheduler_address) as client:
        check_training(client)


def test_a_scheduler_that_wants_encryption_is_not_reached_without(cluster, monkeypatch):
    monkeypatch.setattr(connection, "TIMEOUT", 2.0)
    address = cluster.scheduler_address
    plain = address.replace("tls://", "tcp://")
    for wrong, sentence in ((address, "needs certificates"), (plain, "No scheduler answers")):
        with pytest.raises(ConnectionError, match=sentence), connected(wrong):
            pytest.fail("a connection without encryption")
