#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# python: venv, multiprocessing, subprocess, sockets, temporary files, threads, sqlite.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
cat >all.py <<'PY'
import concurrent.futures, getpass, multiprocessing, os, pathlib, pwd, shutil, socket, sqlite3, subprocess, sys, tempfile, threading


def square(n):
    return n * n


def serve(listener):
    peer, _ = listener.accept()
    peer.sendall(b"served")
    peer.close()


if __name__ == "__main__":
    assert getpass.getuser() == os.environ["USER"] == pwd.getpwuid(os.getuid()).pw_name
    assert pathlib.Path.home().is_dir()
    with multiprocessing.Pool(3) as pool:
        assert pool.map(square, range(100)) == [n * n for n in range(100)]
    lock, queue = multiprocessing.Lock(), multiprocessing.Queue()
    with lock:
        queue.put(1)
    assert queue.get() == 1
    for method in ("spawn", "forkserver"):
        process = multiprocessing.get_context(method).Process(target=square, args=(3,))
        process.start()
        process.join()
        assert process.exitcode == 0, method
    shared = multiprocessing.shared_memory.SharedMemory(create=True, size=4096) if hasattr(multiprocessing, "shared_memory") else None
    if shared:
        shared.close()
        shared.unlink()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(square, range(10))) == 285
    done = subprocess.run(["sh", "-c", "cat; exit 5"], input=b"in", capture_output=True)
    assert (done.returncode, done.stdout) == (5, b"in")
    for family, host in ((socket.AF_INET, "localhost"), (socket.AF_INET6, "::1")):
        listener = socket.socket(family)
        listener.bind((host, 0))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        assert socket.create_connection(listener.getsockname()[:2]).recv(100) == b"served"
        thread.join()
    path = "socket"
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.close()
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
        shutil.copytree(".", os.path.join(folder, "copy"), ignore=shutil.ignore_patterns(path))
        file.write(b"x")
    base = sqlite3.connect("base.db")
    base.execute("create table t (a)")
    base.executemany("insert into t values (?)", [(n,) for n in range(1000)])
    base.commit()
    assert base.execute("select sum(a) from t").fetchone() == (499500,)
    try:
        socket.getaddrinfo("example.com", 80)
        sys.exit("a name was resolved without a network")
    except socket.gaierror:
        pass
PY
python3 all.py
python3 -m venv --without-pip env
env/bin/python -c 'import sys; assert sys.prefix != sys.base_prefix'
python3 -m venv env-with-pip
env-with-pip/bin/pip --version >/dev/null
