"""rkv-sim --sample: what its report has, that it is near the whole simulation's, and what cannot be sampled."""

import os
import unittest

import program
from program import ProgramTest
from report_schema import schema_problems

OPERATIONS = 200_000
# The thesis's workload, which is the one that can be sampled.
THESIS = {
    "preset": "thesis",
    "keys": None,
    "check": None,
    "completion": {"mode": "busy"},
    "load": {"total_operations": OPERATIONS},
    "store": {"kind": "chained"},
}
WINDOW = ["--sample", "--sample-operations", "500"]


class Sample(ProgramTest):
    def points(self, *arguments, out, **fields):
        self.run_well(*self.simulation("--out", out, *arguments, **{**THESIS, **fields}))
        report = self.report(out)
        self.assertEqual(schema_problems(report), [])
        return report["points"]

    def bytes_of(self, out):
        return (self.folder / out / "report.json").read_bytes()

    @unittest.skipIf("RKV_TEST_SANITIZER" in os.environ, "how close it is needs a whole run, which takes minutes")
    def test_a_sampled_point_stands_for_the_whole_run_and_says_what_it_rests_on(self):
        whole = self.points(out="whole")
        sampled = self.points(*WINDOW, out="sampled")
        self.assertEqual([point["clients"] for point in sampled], [1, 2])
        for one, other in zip(sampled, whole):
            self.assertNotIn("sampling", other)
            self.assertFalse(one["partial"])
            self.assertGreater(one["sampling"]["windows"], 1)
            self.assertGreaterEqual(one["sampling"]["operations"], 500 * one["sampling"]["windows"])
            self.assertGreater(one["sampling"]["simulated_s"], 0)
            self.assertEqual(one["operations"], OPERATIONS)
            self.assertEqual(sum(c["operations"] for c in one["per_client"]), OPERATIONS)
            self.assertAlmostEqual(one["throughput_ops_s"] / other["throughput_ops_s"], 1, delta=0.02)
            self.assertAlmostEqual(one["latency_us"]["mean"] / other["latency_us"]["mean"], 1, delta=0.02)

    def test_equal_samples_give_equal_bytes_however_many_run_at_a_time(self):
        self.points(*WINDOW, "--jobs", "1", out="one")
        self.points(*WINDOW, "--jobs", "2", "--quiet", out="two")
        self.assertEqual(self.bytes_of("one"), self.bytes_of("two"))

    def test_larger_windows_simulate_more(self):
        (small,) = self.points("--sample", "--sample-operations", "100", out="small", clients=1)
        (large,) = self.points("--sample", "--sample-operations", "1000", out="large", clients=1)
        per_window = lambda point: point["sampling"]["operations"] / point["sampling"]["windows"]
        self.assertGreater(per_window(large), per_window(small))

    def test_points_of_which_windows_tell_too_little_are_simulated_whole(self):
        load = {"total_operations": 20_000, "start_stagger_ms": 1}
        # The profile has 16 cores a host, and interrupts that draw threads which sleep.
        for mode, clients in [("busy", [16, 17]), ("event", [2, 3])]:
            with self.subTest(mode):
                fields = {**THESIS, "load": load, "clients": clients, "completion": {"mode": mode}}
                out, _ = self.run_well(*self.simulation(*WINDOW, "--out", mode, **fields))
                self.assertIn(f"simulated whole, since windows tell too little of them: {clients[1]} clients", out)
                self.assertEqual(["sampling" in point for point in self.report(mode)["points"]], [True, False])

    def refused_sample(self, *arguments, says, **fields):
        self.refused(*self.simulation("--sample", "--out", "out", *arguments, **{**THESIS, **fields}), says=says)

    def test_scenarios_that_cannot_be_sampled(self):
        load = THESIS["load"]
        for fields, pointer in (
            ({"load": {"duration_s": 1}}, "/load/total_operations"),
            ({"load": {**load, "window": 2}}, "/load/window"),
            ({"load": {**load, "warm_up_operations": 1}}, "/load/warm_up_operations"),
            ({"load": {**load, "arrivals": {"kind": "poisson", "rate_ops_s": 1000}}}, "/load/arrivals/kind"),
            ({"preset": None}, "/keys/distribution"),
            ({"store": {"kind": "cuckoo"}}, "/store/kind"),
            ({"check": True}, "/check"),
            ({"trace": True}, "/trace"),
        ):
            with self.subTest(pointer=pointer):
                self.refused_sample(says=["small.json", f"{pointer}: can't be sampled (--sample): needs "], **fields)
        # All at once.
        self.refused_sample(says=["/load/window", "/trace"], load={**load, "window": 2}, trace=True)

    def test_a_network_that_loses_cannot_be_sampled(self):
        self.refused_sample("--set-profile", "network.loss=0.01", says=["das5", "/network/loss"])

    def test_options_that_contradict_each_other(self):
        self.refused_sample("--trace", says=["--trace", "--sample"])
        self.refused_sample("--sample-operations", "99", says=["--sample-operations"])
        self.refused(*self.simulation("--sample-operations", "500"), says=["--sample-operations is for --sample"])


if __name__ == "__main__":
    program.main()
