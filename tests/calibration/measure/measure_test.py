"""rkv-calibrate measure from outside: it measures, writes what rkv-sim takes, and refuses what makes no sense."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "support"))
import program_test
from program_test import ProgramTest, interrupt

PROFILES = pathlib.Path(__file__).parents[3] / "calibration" / "profiles"
simulator = None


def at(document, field):
    for name in field.split("."):
        document = document[name]
    return document


def may_go_ahead():
    """Whether this machine lets programs go ahead of all others."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, *before)
    return True


class Measure(ProgramTest):
    def test_a_quick_measurement_makes_a_profile_for_the_simulator(self):
        out, err = self.run_well("measure", "--quick", "--out", "my.json")
        self.assertEqual(err, "")  # no progress where there is no terminal
        profile = json.loads((self.folder / "my.json").read_text())
        told = json.loads((self.folder / "my.measurements.json").read_text())
        self.assertIn("smoke test", profile["description"])
        self.assertTrue(told["quick"])
        self.assertGreater(len(told["figures"]), 15)
        for figure in told["figures"]:
            self.assertGreater(figure["value"], 0, figure)
            self.assertGreaterEqual(figure["spread"], 0, figure)
            self.assertGreater(figure["samples"], 0, figure)
            self.assertIn(figure["name"], out)
            for field in figure["fields"]:
                if field not in ("hosts.memory.walk", "hosts.memory.lines"):  # of several figures
                    self.assertEqual(at(profile, field), figure["value"], field)
        for left in told["left_as_in_base"]:
            self.assertIn(left["why"], out)
        self.assertIn("soft0 has no card whose cache could miss", out)
        self.assertEqual(self.files(), ["my.json", "my.measurements.json"])
        scenario = self.scenario(transport="uc", clients=[1])
        run = subprocess.run(
            [simulator, "--scenario", scenario, "--profile", "my.json", "--out", "out"],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_one_cpu_is_enough(self):
        cpu = min(os.sched_getaffinity(0))
        process = subprocess.run(
            ["taskset", "-c", str(cpu), program_test.program, "measure", "--quick", "--out", "one.json"],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(process.returncode, 0, process.stderr)
        told = json.loads((self.folder / "one.measurements.json").read_text())
        left = {field: one["why"] for one in told["left_as_in_base"] for field in one["fields"]}
        for field in (
            "hosts.memory.lock_hand_over_ns",
            "hosts.scheduler.halt_after_ns",
            "hosts.scheduler.wakeup_before_halt_ns",
            "hosts.scheduler.reschedule_ns",
            "hosts.scheduler.reschedule_interrupt_ns",
            "hosts.scheduler.wake_beside_ns",
            "hosts.scheduler.wake_elsewhere_ns",
            "hosts.scheduler.wakeup_latency_ns",
            "nic.soft_elsewhere_ns",
            "nic.soft_read_ns_per_byte",
        ):
            self.assertIn("two CPUs", left[field])

    @unittest.skipUnless(may_go_ahead(), "needs SCHED_FIFO, which root may have")
    def test_watching_tells_how_near_the_cpus_are(self):
        out, _ = self.run_well("watch", "--every-ms", "10", "--seconds", "0.1")
        header, *looks = [line.split(",") for line in out.splitlines()]
        self.assertEqual(header, ["t_s", "line_hand_over_ns"])
        self.assertEqual([float(t_s) for t_s, _ in looks], [look / 100 for look in range(1, 11)])
        for _, time_ns in looks:
            self.assertGreater(float(time_ns), 1)
            self.assertLess(float(time_ns), 100_000)  # less than a wake-up: both sides spin

    @unittest.skipUnless(may_go_ahead(), "needs SCHED_FIFO, which root may have")
    def test_watching_ends_when_interrupted(self):
        process = self.start("watch")
        lines = [process.stdout.readline() for _ in range(3)]  # it heeds interrupts by the first
        interrupt(process)
        code, _, err = self.finish(process)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(all(lines), lines)

    def test_watching_takes_two_cpus(self):
        process = subprocess.run(
            ["taskset", "-c", str(min(os.sched_getaffinity(0))), program_test.program, "watch"],
            cwd=self.folder, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(process.returncode, 2)
        self.assertIn("one CPU only", process.stderr)
        self.refused("watch", "--every-ms", "0", says=["--every-ms"])

    def test_existing_files_are_kept(self):
        (self.folder / "my.measurements.json").write_text("mine")
        self.refused("measure", "--quick", "--out", "my.json", says=["my.measurements.json", "--force"])
        self.assertEqual((self.folder / "my.measurements.json").read_text(), "mine")

    def test_what_makes_no_sense(self):
        self.refused("measure", says=["--out"])
        self.refused("measure", "--out", "my.txt", says=["my.txt", ".json"])
        self.refused("measure", "--out", "nowhere/my.json", says=["nowhere"])
        self.refused("measure", "--out", "my.json", "--base", "none.json", says=["none.json", "profiles/"])
        self.refused("measure", "--out", "my.json", "--device", "mlx5_0", says=["mlx5_0", "--base"])
        self.refused("measure", "--out", "my.json", "--base", PROFILES / "das5.json", says=["das5", "soft0"])

    def test_a_device_that_there_is_not(self):
        code, _, err = self.run_program(
            "measure", "--out", "my.json", "--device", "nosuch0", "--base", PROFILES / "das5.json"
        )
        self.assertEqual(code, 1)
        self.assertIn("nosuch0", err)
        self.assertIn("soft0", err)  # what there is
        self.assertEqual(self.files(), [])

    def test_interrupted_it_writes_nothing(self):
        process = self.start("measure", "--out", "my.json")
        # It is measuring when its own threads are there.
        tasks = pathlib.Path(f"/proc/{process.pid}/task")
        self.wait_until(lambda: len(list(tasks.iterdir())) > 1, "threads")
        time.sleep(0.1)
        interrupt(process)
        code, _, err = self.finish(process)
        self.assertEqual(code, 130, err)
        self.assertIn("nothing was written", err)
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    simulator = os.path.abspath(sys.argv.pop(2))
    program_test.main()
