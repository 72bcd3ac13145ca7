"""calibration/studies/rc_swarm/swarm.py: sweeps as points, and the errors of predictions, by hand."""

import unittest

from study_test import StudyTest

SWEEPS = """\
source_file,nic,machines,threads_per_machine,vms_per_machine,qps_per_machine,op_bytes,window,unsig_batch,mean_mops_per_machine,min,max
a-allsig-reads,Card A (Lab),6,2,1,12,32,8,4,9.0,8.0,10.0
a-allsig-reads,Card A (Lab),6,2,1,12,32,8,16,11.0,10.0,12.0
a-16_byte_uc_write,Card A (Lab),6,14,2,168,16,8,4,100.0,99.9,100.1
b-reads,Card B (Lab),11,8,3,264,32,16,64,5.0,5.0,5.0
"""
PREDICTED = """\
transport,completion,clients,metric,value,spread,scenario,predicted
rc,busy,2,throughput_both_ways_ops_s,1,1,{reads},22000000
uc,busy,14,throughput_both_ways_ops_s,1,1,{writes},196000000
"""
READS = "rc_random_reads verbs.bytes=32 verbs.queue_pairs=5 load.window=8 queue_pair.signal_interval=1"
WRITES = (
    "rc_random_reads verbs.bytes=16 verbs.queue_pairs=10 load.window=8 queue_pair.signal_interval=4 "
    "verbs.operation=write queue_pair.inline_bytes=60 transport=uc"
)


class Swarm(StudyTest):
    script = "rc_swarm/swarm.py"

    def setUp(self):
        super().setUp()
        self.sweeps = self.file("sweeps.csv", SWEEPS)

    def points(self, nic, *words):
        return self.lines("points.csv", "points", self.sweeps, nic, str(self.folder / "points.csv"), *words)

    def test_lines_become_scenarios(self):
        reads, writes = self.points("Card A")
        self.assertEqual((reads["transport"], reads["clients"], reads["scenario"]), ("rc", "2", READS))
        self.assertEqual((writes["transport"], writes["clients"], writes["scenario"]), ("uc", "14", WRITES))
        # Two replicates, since all are signalled; of two machines.
        self.assertEqual(float(reads["value"]), 2 * 10e6)
        self.assertEqual(float(reads["spread"]), 2 * 0.5e6)
        self.assertEqual({reads["completion"], reads["metric"]}, {"busy", "throughput_both_ways_ops_s"})
        (other,) = self.points("Card B")
        self.assertIn("verbs.queue_pairs=30 load.window=16 queue_pair.signal_interval=64", other["scenario"])

    def test_a_file_is_left_out(self):
        (left,) = self.points("Card A", "--without", "a-16_byte_uc_write")
        self.assertEqual(left["scenario"], READS)

    def test_errors_are_weighted_by_the_spreads(self):
        predicted = self.file("predicted.csv", PREDICTED.format(reads=READS, writes=WRITES))
        done = self.run_script("errors", self.sweeps, "Card A", predicted)
        self.assertEqual(done.returncode, 0, done.stderr)
        _, reads, writes, both = done.stdout.splitlines()
        self.assertEqual(reads.split(), ["a-allsig-reads", "1", "10.0", "%", "10.0", "%", "+10", "%"])
        self.assertEqual(writes.split(), ["a-16_byte_uc_write", "1", "2.0", "%", "2.0", "%", "-2", "%"])
        # sqrt((10^2 + 2^2) / 2); spreads of 5 % and, as the least that counts, 1 %: weights 1 and 25,
        # sqrt((10^2 + 25 x 2^2) / 26)
        self.assertEqual(both.split(), ["all", "2", "7.2", "%", "2.8", "%", "+10", "%"])

    def test_mistakes_are_told(self):
        done = self.run_script("files", self.sweeps, "Card C")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no card Card C; there are Card A (Lab), Card B (Lab)", done.stderr)
        done = self.run_script("files", str(self.folder / "none.csv"), "Card A")
        self.assertEqual(done.returncode, 2)
        self.assertIn("none.csv", done.stderr)


if __name__ == "__main__":
    unittest.main()
