"""Ctrl-C, SIGTERM and a dead simulating process in the middle of a run: what was simulated is kept."""

import os
import pathlib
import signal
import subprocess

import program
from program import ENDLESS, ProgramTest, interrupt
from report_schema import schema_problems

# Operations are simulated when the point is about this old. What is asserted does not depend on it.
A_WHILE_S = 0.5


def parent_of(number):
    """The number of its parent; None when there is no such process, or only what is left of it."""
    try:
        state, parent = pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else int(parent)


def children(process):
    """The processes that it has started, as they live."""
    numbers = [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")]
    return sorted(number for number in numbers if parent_of(number) == process.pid)


class Interrupted(ProgramTest):
    def begun(self, *arguments, after_s=A_WHILE_S, points=1, new_session=False, **fields):
        """A run in the middle of endless points."""
        simulation = self.simulation("--out", "out", *arguments, **{**ENDLESS, "clients": 2, **fields})
        process = self.start(*simulation, new_session=new_session)
        self.wait_for_point(0)
        self.wait_until(lambda: len(children(process)) == points, "the simulating process")
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            pass
        return process

    def ends_interrupted(self, process):
        code, out, err = self.finish(process)
        self.assertEqual(code, 130, out + err)
        self.assertIn("interrupted", err)
        points = self.report()["points"]
        self.assertEqual(schema_problems(self.report()), [])
        for point in points:
            self.assertTrue(point["partial"])
            self.assertEqual(point["partial_reason"], "interrupted")
            self.assertEqual(point["check_violations"]["count"], 0)
        return points

    def test_ctrl_c_on_every_transport(self):
        for transport in ("tcp", "rc", "uc", "ud"):
            with self.subTest(transport=transport):
                process = self.begun(transport=transport)
                interrupt(process)
                (point,) = self.ends_interrupted(process)
                self.assertGreater(point["operations"], 0)
                (self.folder / "out").rename(self.folder / transport)

    def test_ctrl_c_at_once(self):
        for attempt in range(5):
            process = self.begun(after_s=0)
            interrupt(process)
            self.assertEqual(len(self.ends_interrupted(process)), 1)
            (self.folder / "out").rename(self.folder / str(attempt))

    def test_ctrl_c_in_a_terminal_goes_to_all_its_processes(self):
        process = self.begun(new_session=True)
        os.killpg(process.pid, signal.SIGINT)
        (point,) = self.ends_interrupted(process)
        self.assertGreater(point["operations"], 0)

    def test_sigterm_is_the_same(self):
        process = self.begun()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(len(self.ends_interrupted(process)), 1)

    def test_points_under_way_are_kept_and_no_other_is_begun(self):
        process = self.begun("--jobs", "2", clients=[1, 2, 3], points=2)
        interrupt(process)
        self.assertEqual([point["clients"] for point in self.ends_interrupted(process)], [1, 2])

    def test_a_sweep_is_not_continued(self):
        process = self.start(*self.simulation("--out", "out", **ENDLESS, clients=1, sweep={"load.window": [1, 2]}))
        self.wait_until(lambda: children(process), "the first point")
        interrupt(process)
        self.assertEqual(self.finish(process)[0], 130)
        self.assertEqual(len(list(self.folder.glob("out/*/report.json"))), 1)

    def test_a_simulating_process_that_dies_is_told_and_the_others_go_on(self):
        process = self.begun("--jobs", "1", clients=[2, 1])
        (first,) = children(process)
        os.kill(first, signal.SIGKILL)
        self.wait_for_point(1)
        self.wait_until(lambda: children(process) not in ([], [first]), "the second point")
        (second,) = children(process)
        os.kill(second, signal.SIGABRT)
        code, out, err = self.finish(process)
        self.assertEqual(code, 1, out + err)
        points = self.report()["points"]
        self.assertEqual([point["clients"] for point in points], [2, 1])
        for point, why in zip(points, ("Killed", "Aborted")):
            self.assertTrue(point["partial"])
            self.assertEqual(point["partial_reason"], f"the simulating process died: {why}")
            self.assertIn(f"the point with {point['clients']} clients ended early", err)
        self.assertEqual(schema_problems(self.report()), [])

    def test_nothing_outlives_the_program(self):
        process = self.begun()
        (simulating,) = children(process)
        process.kill()
        self.finish(process)
        self.wait_until(lambda: parent_of(simulating) is None, "the end of its child")
        self.assertEqual(self.report()["points"], [])


if __name__ == "__main__":
    program.main()
