"""Runs rkv-real or rkv-sim for its tests: in a fresh folder, with a deadline, every process gone in the end."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PATIENCE_S = 120  # sanitizers, and machines with few cores
program = None

# A checked scenario of no time at all.
SMALL = {
    "name": "small",
    "transport": "tcp",
    "completion": {"mode": "event"},
    "clients": [1, 2],
    "load": {"total_operations": 200},
    "keys": {"count": 50},
    "check": True,
}
ENDLESS = {"load": {"duration_s": 1800}}


def main():
    global program
    program = os.path.abspath(sys.argv.pop(1))
    unittest.main()


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rkv-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.processes = []
        self.addCleanup(self.end_all)

    def end_all(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def scenario(self, name="small", **fields):
        """Writes a scenario file; fields replace those of SMALL, None takes one out."""
        scenario = {**SMALL, "name": name, **fields}
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({k: v for k, v in scenario.items() if v is not None}))
        return str(path)

    def start(self, *arguments, environment=None, new_session=False):
        process = subprocess.Popen(
            [program, *map(str, arguments)],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **(environment or {})},
            start_new_session=new_session,
        )
        self.processes.append(process)
        return process

    def finish(self, process):
        """Exit code, stdout and stderr; fails when it does not end."""
        try:
            out, err = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            self.fail("does not end: " + "".join(map(str, process.communicate())))
        return process.returncode, out, err

    def run_program(self, *arguments, environment=None):
        return self.finish(self.start(*arguments, environment=environment))

    def run_well(self, *arguments, environment=None):
        code, out, err = self.run_program(*arguments, environment=environment)
        self.assertEqual(code, 0, out + err)
        return out, err

    def report(self, out="out"):
        return json.loads((self.folder / out / "report.json").read_text())

    def wait_until(self, holds, what):
        end = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > end:
                self.fail("in vain: " + what)
            time.sleep(0.02)

    def wait_for_point(self, number, out="out"):
        """Until the report of a running program has so many points."""
        path = self.folder / out / "report.json"

        def there():
            try:
                return len(json.loads(path.read_text())["points"]) >= number
            except (FileNotFoundError, json.JSONDecodeError):
                return False  # not yet; later it is replaced as a whole

        self.wait_until(there, f"{number} points in {path}")

    def refused(self, *arguments, says, environment=None):
        """Bad input: told with these texts, and nothing is written."""
        before = self.files()
        code, out, err = self.run_program(*arguments, environment=environment)
        self.assertEqual(code, 2, out + err)
        for text in says:
            self.assertIn(text, err)
        self.assertEqual(self.files(), before, "something was written")
        return err

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


def interrupt(process):
    process.send_signal(signal.SIGINT)
