"""Engines that are asked about exports: PostgreSQL and ClickHouse as Debian has them, each with a directory, a user and a socket
or a port of loopback of its own, and SQLite.  Nothing of them is left behind."""
import glob
import json
import os
import pathlib
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

START_S = 120  # on a machine that does other things


def other_user(*names):
    """Who a server is to run as, where this is root: the first of the users that there is.  None: as ourselves."""
    if os.geteuid() != 0:
        return None
    for name in (*names, "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            pass
    raise unittest.SkipTest("no user but root to run a server as")


class Engine:
    """A server and its directory."""

    def __init__(self, user):
        self.user = user
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="seen-engine-"))
        if user:
            os.chown(self.top, user.pw_uid, user.pw_gid)

    def run(self, *words, **more):
        """Runs a program as the engine's user."""
        if self.user:
            words = ("runuser", "-u", self.user.pw_name, "--", *words)
        more.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(words, cwd=self.top, stderr=subprocess.PIPE, check=False, **more)

    def must(self, *words, **more):
        done = self.run(*words, **more)
        if done.returncode:
            raise AssertionError(f"{words}: {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}")
        return done.stdout

    def close(self):
        shutil.rmtree(self.top, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class SQLite:
    """A database file."""
    name = "sqlite"

    def __init__(self, path):
        self.connection = sqlite3.connect(f"file:{urllib.parse.quote(str(path))}?mode=ro", uri=True)

    def rows(self, question):
        return [list(row) for row in self.connection.execute(question)]

    def close(self):
        self.connection.close()


class PostgreSQL(Engine):
    """On a socket in its own directory alone."""
    name = "postgresql"

    def __init__(self):
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [os.path.dirname(shutil.which("initdb") or "")]
        if not bins[-1]:
            raise unittest.SkipTest("no PostgreSQL (Debian: postgresql)")
        self.bin = bins[-1]
        super().__init__(other_user("postgres"))
        try:
            self.must(f"{self.bin}/initdb", "-D", str(self.top / "data"), "-U", "audit", "-A", "trust", "-E", "UTF8", "--locale=C",
                      "--no-sync")
            self.must(f"{self.bin}/pg_ctl", "-D", str(self.top / "data"), "-w", "-t", str(START_S), "-l", str(self.top / "log"), "-o",
                      f"-c listen_addresses='' -c unix_socket_directories='{self.top}' -c fsync=off", "start",
                      stdout=subprocess.DEVNULL)
        except BaseException:
            self.close()
            raise

    def psql(self, text, **more):
        return self.must(f"{self.bin}/psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", str(self.top), "-U", "audit", "-d", "postgres",
                         "-At", "-c", text, **more)

    def copy(self, text, path):
        """COPY ... FROM STDIN, of a file."""
        with open(path, "rb") as file:
            return self.psql(text, stdin=file)

    def rows(self, question):
        rows = self.psql(f"SELECT row_to_json(answer) FROM ({question}) answer")
        return [list(json.loads(line).values()) for line in rows.splitlines()]

    def close(self):
        self.run(f"{self.bin}/pg_ctl", "-D", str(self.top / "data"), "-m", "immediate", "-w", "-t", str(START_S), "stop")
        super().close()


CLICKHOUSE = """<yandex>
<logger><level>warning</level><console>1</console></logger>
<listen_host>127.0.0.1</listen_host><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
<path>{top}/data/</path><tmp_path>{top}/tmp/</tmp_path><user_files_path>{top}/files/</user_files_path>
<users_config>{top}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>268435456</mark_cache_size>
</yandex>
"""
CLICKHOUSE_USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users>
</yandex>
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ClickHouse(Engine):
    """On two ports of loopback."""
    name = "clickhouse"

    def __init__(self):
        program = shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")
        if not program:
            raise unittest.SkipTest("no ClickHouse (Debian: clickhouse-server)")
        super().__init__(other_user("clickhouse"))
        self.url = f"http://127.0.0.1:{(port := free_port())}/"
        self.server = None
        try:
            for name, text in (("config.xml", CLICKHOUSE.format(http=port, tcp=free_port(), top=self.top)),
                               ("users.xml", CLICKHOUSE_USERS)):
                (self.top / name).write_text(text)
            words = (program, f"--config-file={self.top}/config.xml")
            with open(self.top / "log", "wb") as log:
                self.server = subprocess.Popen(words, cwd=self.top, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **(
                    {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}))
            self.wait()
        except BaseException:
            self.close()
            raise

    def wait(self):
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.server.poll() is None:
            try:
                self.ask("SELECT 1")
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("ClickHouse did not start: " + (self.top / "log").read_text(errors="replace")[-2000:])

    def ask(self, text, body=None, **settings):
        """By HTTP.  body: of an INSERT: bytes, or a file."""
        more = {"query": text, **{name: str(value) for name, value in settings.items()}}
        request = urllib.request.Request(self.url + "?" + urllib.parse.urlencode(more), data=body or b"", method="POST")
        if hasattr(body, "fileno"):
            request.add_header("Content-Length", str(os.fstat(body.fileno()).st_size))
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{text}: {error.read().decode(errors='replace')[:2000]}") from None

    def rows(self, question):
        rows = self.ask(f"{question} FORMAT JSONCompact", output_format_json_quote_64bit_integers=0)
        return json.loads(rows)["data"]

    def close(self):
        if self.server and self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(START_S)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()
        super().close()
