"""calibration/studies/this_machine/machine.py: runs as points, medians of profiles, and the errors of predictions."""

import argparse
import csv
import json
import math
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

from study_test import STUDIES, StudyTest

sys.path.insert(0, str(STUDIES / "this_machine"))
import machine

AT_ONCE = "load.total_operations=null load.connect_pause_ms=0 load.start_stagger_ms=0"
ONE = f"uc_blocking {AT_ONCE} load.duration_s=0.5 server.cores=[0] client.cores=[0]"
ONE_BUSY = f"uc_nonblocking {AT_ONCE} load.duration_s=0.5 server.cores=[0] client.cores=[0]"
TWO = f"uc_blocking {AT_ONCE} load.duration_s=2"
TWO_BUSY = f"uc_nonblocking {AT_ONCE} load.duration_s=24"
RUNS = f"""\
transport,completion,clients,scenario,repetition,throughput_ops_s,latency_mean_us,others,in_state
uc,event,1,{ONE},1,90,1,0,1.0
uc,event,1,{ONE},2,100,1,0,1.0
uc,event,1,{ONE},3,130,1,0,1.0
uc,busy,2,{ONE_BUSY},1,125,1,0,1.0
uc,event,4,{TWO},1,1000,1,0,1.0
uc,busy,4,{TWO_BUSY},1,100,1,0,1.0
uc,busy,8,{TWO_BUSY},1,100,1,0,1.0
"""
PREDICTED = f"""\
transport,completion,clients,metric,value,spread,scenario,predicted
uc,event,1,throughput_ops_s,100,1,{ONE},100
uc,busy,2,throughput_ops_s,125,1,{ONE_BUSY},125
uc,event,4,throughput_ops_s,1000,1,{TWO},1160
uc,busy,4,throughput_ops_s,100,1,{TWO_BUSY},149
uc,busy,8,throughput_ops_s,100,1,{TWO_BUSY},60
"""


class Machine(StudyTest):
    script = "this_machine/machine.py"

    def setUp(self):
        super().setUp()
        self.runs = self.file("runs.csv", RUNS)

    def arguments(self, **others):
        """Of `run`, whose rkv-calibrate tells that a line takes 44 ns, then 210, until it is interrupted."""
        watch = self.folder / "watch"
        watch.write_text(
            "#!/bin/sh\ntrap 'exit 0' INT\necho t_s,line_hand_over_ns\necho 0.05,44\necho 0.1,210\n"
            "while :; do sleep 0.01; done\n"
        )
        watch.chmod(0o755)
        return argparse.Namespace(program=self.program(), calibrate=str(watch), **others)

    def test_every_point_is_run(self):
        outcomes = self.folder / "outcomes.csv"
        with mock.patch.object(machine, "MOST_OF_OTHERS", math.inf):  # whatever else runs: once
            machine.do_runs(self.arguments(runs=outcomes, repetition=3, state_ns=None, until=None))
        with open(outcomes, encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        points = [tuple(list(line.values())[:4]) for line in lines]
        # Transports, completions, clients on one CPU and on two; those that are fitted to three times.
        self.assertEqual(len(set(points)), 4 * 2 * (3 + 7))
        self.assertEqual(len(points), 4 * 2 * (3 + 7) + 4 * 3 * 2)
        self.assertEqual(points.count(("uc", "event", "1", ONE)), 3)
        for line in lines:
            self.assertEqual(float(line["throughput_ops_s"]), 1000 * int(line["clients"]))
            self.assertEqual(line["repetition"], "3")
            self.assertEqual(line["in_state"], "1.0")
        scenarios = {(line["transport"], line["completion"], line["clients"], line["scenario"]) for line in lines}
        self.assertIn(("uc", "event", "1", ONE), scenarios)
        self.assertIn(("uc", "busy", "2", ONE_BUSY), scenarios)
        self.assertIn(("uc", "busy", "4", TWO_BUSY), scenarios)
        # With one client both threads have a CPU.
        self.assertIn(("uc", "busy", "1", f"uc_nonblocking {AT_ONCE} load.duration_s=2"), scenarios)

    def test_only_points_that_lack_runs_in_the_state_are_run_until_there_are_enough(self):
        places = [list(place) for place in dict.fromkeys(machine.points_of_study())]
        lacking, never_run = places[30], places[50]
        outcomes = self.folder / "outcomes.csv"
        with open(outcomes, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*machine.PLACE, "repetition", "throughput_ops_s", "latency_mean_us", "others", "in_state"])
            for place in places:
                if place == never_run:
                    continue
                for repetition in (1, 2):
                    in_state = 0.69 if place == lacking and repetition == 2 else 0.7
                    writer.writerow([*place, repetition, 1, 1, 0, in_state])
        before = outcomes.read_text()
        with mock.patch.object(machine, "MOST_OF_OTHERS", math.inf):
            machine.do_runs(self.arguments(runs=outcomes, repetition=3, state_ns=None, until=2))
        self.assertTrue(outcomes.read_text().startswith(before))
        with open(outcomes, encoding="utf-8") as file:
            added = [line for line in csv.DictReader(file) if line["repetition"] == "3"]
        self.assertEqual(
            [[line[name] for name in machine.PLACE] for line in added],
            [[str(value) for value in place] for place in (lacking, never_run)],
        )

    def test_studies_are_compared_with_each_other(self):
        other = self.file("other.csv", RUNS.replace("1,1000,", "1,1200,").replace(f"{TWO_BUSY},1,100,", f"{TWO_BUSY},1,149,"))
        done = self.run_script("agreement", self.runs, other)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, others, beyond = done.stdout.splitlines()
        self.assertEqual(
            others.strip(), "all others: 0 of 1 within a factor of 1.15; the worst: UC, event, 4 clients, 1.20"
        )
        self.assertIn("more threads that poll than CPUs: 2 of 2 within a factor of 1.5; the worst: UC, busy", beyond)
        self.assertTrue(beyond.endswith(" clients, 1.49"))

    def test_studies_without_common_points_are_not_compared(self):
        other = self.file("other.csv", RUNS.replace(TWO_BUSY, TWO_BUSY + "0"))
        done = self.run_script("agreement", self.runs, other)
        self.assertEqual(done.returncode, 2)
        self.assertIn("other.csv have no points in common: more threads that poll than CPUs", done.stderr)

    def test_only_one_cpu_without_polling_is_fitted_to(self):
        out = str(self.folder / "points.csv")
        (point,) = self.lines("points.csv", "points", self.runs, out, "--fitted")
        self.assertEqual((point["scenario"], float(point["value"])), (ONE, 100))
        self.assertAlmostEqual(float(point["spread"]), 20.8167 * 1.2533 / 3**0.5, 3)  # of 90, 100 and 130
        points = self.lines("points.csv", "points", self.runs, out)
        self.assertEqual(len(points), 5)
        self.assertEqual(float(points[2]["spread"]), 20)  # of one run: the least that is believed

    def test_errors_are_judged_by_what_polls(self):
        done = self.run_script("errors", self.runs, self.file("predicted.csv", PREDICTED))
        self.assertEqual(done.returncode, 0, done.stderr)
        _, busy_one, one, busy_4, busy_8, event_4, both, beyond = [None, *done.stdout.splitlines()[1:]]
        self.assertEqual(busy_one.split()[-2:], ["x", "1.00"])
        self.assertEqual(one.split()[-3:], ["+0", "%", "fitted"])
        self.assertEqual(busy_4.split()[-2:], ["x", "1.49"])
        self.assertEqual(busy_8.split()[-3:], ["x", "0.60", "missed"])
        self.assertEqual(event_4.split()[-3:], ["+16", "%", "missed"])
        # Points on one CPU are no predictions.
        self.assertEqual(beyond, "on 2 CPUs, more threads that poll than CPUs: 1 of 2 within a factor of 1.5")
        self.assertEqual(both, "on 2 CPUs, all others: 0 of 1 within 15 %")

    def test_profiles_are_merged_by_their_medians(self):
        names = [
            self.file(f"{i}.json", json.dumps({"description": f"{i}.", "nic": {"kind": "soft", "a": [i, 7], "b": b}}))
            for i, b in enumerate((0.5, 4.5, 1.5))
        ]
        out = self.folder / "merged.json"
        done = self.run_script("profile", str(out), *names)
        self.assertEqual(done.returncode, 0, done.stderr)
        merged = json.loads(out.read_text())
        self.assertEqual(merged["nic"], {"kind": "soft", "a": [1, 7], "b": 1.5})
        self.assertIn("Medians of 3 profiles", merged["description"])

    def test_only_profiles_of_the_fastest_state_are_merged(self):
        names = []
        for i, state_ns in enumerate((210, 46, 45)):
            names.append(self.file(f"{i}.json", json.dumps({"description": "", "nic": {"a": i}})))
            self.file(f"{i}.measurements.json", json.dumps({"state": {"line_hand_over_ns": state_ns}}))
        self.assertEqual(self.run_script("state", *names).stdout, "45\n")
        out = self.folder / "merged.json"
        done = self.run_script("profile", str(out), *names, "--state-ns", "45")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(out.read_text())["nic"], {"a": 1.5})

    def test_a_profile_that_does_not_tell_its_state_is_named(self):
        name = self.file("old.json", "{}")
        for told in ({"figures": []}, {"state": {"wake_by_turns_ns": 5000}}):
            self.file("old.measurements.json", json.dumps(told))
            done = self.run_script("state", name)
            self.assertEqual(done.returncode, 2)
            self.assertIn("old.measurements.json does not tell", done.stderr)
        runs = self.file("old.csv", RUNS.replace("in_state", "state_after_ns"))
        done = self.run_script("points", runs, str(self.folder / "points.csv"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("old.csv does not tell", done.stderr)

    def test_a_watch_that_fails_is_told_before_the_run(self):
        with self.assertRaisesRegex(subprocess.CalledProcessError, "/bin/false"):
            machine.run_watched(argparse.Namespace(calibrate="/bin/false", state_ns=44.0), {"scenario": TWO}, "out")

    def test_runs_in_another_state_are_left_out(self):
        runs = RUNS + f"uc,event,4,{TWO},2,700,1,0,0.6\n" + f"uc,event,8,{TWO},2,700,1,0,0.0\n"
        done = self.run_script("points", self.file("runs.csv", runs), str(self.folder / "points.csv"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 points were never run in the state that was measured", done.stderr)
        with open(self.folder / "points.csv", encoding="utf-8") as file:
            values = {(point["completion"], point["clients"]): float(point["value"]) for point in csv.DictReader(file)}
        self.assertEqual(values[("event", "1")], 100)
        self.assertEqual(values[("event", "4")], 1000)
        self.assertNotIn(("event", "8"), values)

    def test_a_run_is_watched_but_on_one_cpu(self):
        def parts(scenario, state_ns):
            line = {"scenario": scenario, "clients": "1"}
            return machine.run_watched(self.arguments(state_ns=state_ns), line, str(self.folder / state_ns.hex()))[2]

        self.assertEqual(parts(TWO, 44.0), 0.5)
        self.assertEqual(parts(TWO, 30.0), 0.5)  # within a factor of two
        self.assertEqual(parts(TWO, 20.0), 0)
        self.assertEqual(parts(ONE, 45.0), 1)

    def test_a_run_is_done_again_when_the_state_was_another(self):
        def best(*in_state):
            point = {"partial": False, "lost": 0, "latency_us": {"mean": 1}}
            runs = iter((point | {"throughput_ops_s": i}, 0.0, part) for i, part in enumerate(in_state, 1))
            with mock.patch.object(machine, "run_watched", lambda *_: next(runs)):
                outcome = machine.best_run(None, {"scenario": TWO, "clients": "1"})
            return outcome["throughput_ops_s"], outcome["in_state"]

        self.assertEqual(best(0.95), (1, 0.95))
        self.assertEqual(best(0.5, 0.91), (2, 0.91))
        self.assertEqual(best(0.5, 0.7, 0.6), (2, 0.7))  # and no more

    def test_mistakes_are_told(self):
        done = self.run_script("errors", str(self.folder / "none.csv"), self.runs)
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.csv", done.stderr)
        done = self.run_script("run", "/bin/false", "/bin/false", str(self.folder / "outcomes.csv"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("/bin/false", done.stderr)


if __name__ == "__main__":
    unittest.main()
