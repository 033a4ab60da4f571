"""The image, the compose file, the proxy and the systemd unit fit the real server, and each other."""

from __future__ import annotations

import fnmatch
import ipaddress
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from neartag.core.parameters import parse_bytes
from neartag.serve.limits import SLOW_FACTOR
from neartag.serve.run import GRACE_SECONDS
from neartag.serve.settings import Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
CADDYFILE = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
UNIT = (ROOT / "deploy" / "neartag.service").read_text(encoding="utf-8")
ENTRYPOINT = ROOT / "deploy" / "entrypoint.sh"
SITE = "tags.example.org"


def instruction(name):
    """Return what the Dockerfile's last stage says after a word, such as CMD."""
    return re.findall(rf"^\s*{name} (.*)$", DOCKERFILE.rpartition("\nFROM ")[2], re.MULTILINE)[-1]


def compose():
    """Return the compose file with its variables filled in."""
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
    values = {"SITE": SITE, "MODEL": "/srv/model", "MEMORY": "4g"}
    return yaml.safe_load(re.sub(r"\$\{(\w+)[^}]*\}", lambda found: values[found[1]], text))


def unit(key):
    return re.findall(rf"^{key}=(.*)$", UNIT, re.MULTILINE)


def parse(words):
    """Return what the real command line makes of a command; it raises where an option does not exist."""
    from typer.main import get_command

    from neartag.cli.main import app

    command = get_command(app).commands[words[0]]
    with patch("neartag.cli.options.check_model_folder"):  # the model is elsewhere
        return command.make_context(words[0], list(words[1:])).params


def served():
    """Return each command that starts a server, by the file that has it."""
    started = unit("ExecStart")[0].replace("${CREDENTIALS_DIRECTORY}", "/run/credentials")
    return {
        "Dockerfile": json.loads(instruction("CMD")),
        "compose.yaml": compose()["services"]["neartag"]["command"],
        "neartag.service": shlex.split(started)[1:],
    }


@pytest.mark.parametrize("name", ["Dockerfile", "compose.yaml", "neartag.service"])
def test_the_command_is_one_that_the_parser_takes(name):
    given = parse(served()[name])
    assert given["model"] in ("/model", "/var/lib/neartag/model")
    assert given["port"] == 8000
    assert given["host"] == ("127.0.0.1" if name == "neartag.service" else "0.0.0.0")


def test_what_is_no_option_is_noticed():
    with pytest.raises(Exception, match="No such option"):
        parse(["serve", "/model", "--nothing=1"])


def test_everything_has_the_same_port():
    port = instruction("EXPOSE")
    assert f"127.0.0.1:{port}/" in instruction("HEALTHCHECK")
    assert f"neartag:{port}}}" in CADDYFILE
    assert {parse(words)["port"] for words in served().values()} == {int(port)}


def test_the_health_check_passes_for_a_server_as_compose_starts_it_and_fails_for_another_answer(tmp_path):
    from serve_helpers import Client, train

    address = re.search(r"'(http://[^']+)'", instruction("HEALTHCHECK"))[1]
    path = "/" + address.split("/", 3)[3]
    given = parse(served()["compose.yaml"])
    train(refine=False).save(tmp_path / "model")
    client = Client(tmp_path / "model", Settings(hosts=tuple(given["allow_host"])))
    checked = client.get(path, headers={"Host": "127.0.0.1:8000"})
    assert (checked.status_code, checked.json()["ok"]) == (200, True)
    assert client.get(path, headers={"Host": SITE}).status_code == 200  # what the proxy passes on
    assert client.get(path, headers={"Host": "elsewhere.example"}).status_code == 421


def test_the_health_check_fails_where_nobody_listens():
    *_, flag, code = json.loads(instruction("HEALTHCHECK").partition("CMD ")[2])
    assert flag == "-c"
    nobody = code.replace(":8000/", ":1/")
    assert nobody != code
    assert subprocess.run([sys.executable, "-S", "-c", nobody], capture_output=True, check=False).returncode == 1


def test_what_the_image_copies_is_there_and_not_ignored():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = [line[1:] for line in lines if line.startswith("!")]
    assert "*" in lines
    for copied in re.findall(r"^COPY (?!--from)(.*)$", DOCKERFILE, re.MULTILINE):
        for source in [word for word in copied.split() if not word.startswith("--")][:-1]:
            assert (ROOT / source).exists()
            assert any(fnmatch.fnmatch(source, each) for each in kept), f"{source} is ignored"


def test_the_image_compiles_ahead_for_the_processor_that_it_later_names():
    build, _, last = DOCKERFILE.rpartition("\nFROM ")
    for stage in (build, last):
        assert 'NUMBA_CPU_NAME=${CPU} NUMBA_CPU_FEATURES=""' in stage
        assert "ARG CPU=generic" in stage
    assert re.search(r"NUMBA_CACHE_DIR=/opt/neartag/kernels \S+/neartag warm-up", build)
    assert "/opt/neartag/kernels/" in ENTRYPOINT.read_text(encoding="utf-8")


def test_nobody_is_root_and_the_root_is_read_only():
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", instruction("USER"))
    for service in compose()["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
    assert any(each.startswith("/tmp:") for each in compose()["services"]["neartag"]["tmpfs"])


def test_the_server_believes_its_proxy_about_clients_and_nobody_else():
    proxy = compose()["services"]["proxy"]["networks"]["inside"]["ipv4_address"]
    assert parse(served()["compose.yaml"])["trust_proxy"] == [proxy]
    subnet = compose()["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert ipaddress.ip_address(proxy) in ipaddress.ip_network(subnet)
    assert parse(served()["neartag.service"])["trust_proxy"] == ["127.0.0.1"]


def test_the_token_comes_from_a_secret():
    given = compose()
    assert parse(served()["compose.yaml"])["token_file"] == "/run/secrets/token"
    assert given["services"]["neartag"]["secrets"] == ["token"]
    assert given["secrets"]["token"]["file"] == "./token"
    assert unit("LoadCredential")[0].startswith("token:")


def test_the_proxy_lets_through_what_the_server_allows():
    size = re.search(r"max_size (\S+)", CADDYFILE)[1]
    assert parse_bytes(size) > Settings().max_upload
    seconds = int(re.search(r"response_header_timeout (\d+)s", CADDYFILE)[1])
    assert seconds > Settings().max_seconds * SLOW_FACTOR


def test_systemd_waits_until_requests_are_answered_and_lets_numba_compile():
    assert int(unit("TimeoutStopSec")[0]) > Settings().max_seconds + GRACE_SECONDS
    assert not unit("MemoryDenyWriteExecute")
    assert unit("Environment")[0].startswith("NUMBA_CACHE_DIR=/var/cache/neartag")
    assert unit("CacheDirectory") == unit("StateDirectory") == ["neartag"]


@pytest.mark.skipif(os.name != "posix", reason="the script of the container is one of a POSIX shell")
@pytest.mark.parametrize("possible", [True, False])
def test_the_entry_point_starts_neartag_whether_or_not_kernels_can_be_copied(tmp_path, possible):
    command = tmp_path / "neartag"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    command.chmod(0o755)
    (tmp_path / "file").touch()
    cache = tmp_path / ("numba" if possible else "file/numba")
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        ["sh", ENTRYPOINT, "serve", "/a model"], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["serve", "/a model"]
    assert cache.exists() == possible
