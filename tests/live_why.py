"""Helpers for tests of explanations and predictions: a live manager with two nodes of 4 GPUs, jobs
that run or wait on it, and a comparison of its answers with the output of `muster`."""

from live_daemon import LiveTest, two_nodes

TWO = two_nodes(4, 1)
LONG = ["sleep", "300"]
WIDEST = 120  # Maximum length of a first line.


class WhyTest(LiveTest):
    CONFIG = TWO

    def running(self, gpus=1, **more):
        job = self.post_job(LONG, gpus=gpus, **more)
        self.wait_state(job, "running")
        return job

    def waiting(self, gpus=1, **more):
        """Submits a job that the next plan does not start."""
        job = self.post_job(LONG, gpus=gpus, **more)
        self.assertEqual(self.daemon.job(job)["state"], "queued")
        return job

    def first_line(self, *words, status=0):
        out, err = self.daemon.muster(*words, status=status)
        line = (out or err).splitlines()[0]
        self.assertLess(len(line), WIDEST, line)
        return line

    def why(self, job):
        """Returns the manager's answer. Checks that the program prints the same text."""
        answer = self.daemon.get(f"/v1/jobs/{job}/why")
        self.assertEqual(answer["id"], job)
        line = self.first_line("why", job)
        self.assertTrue(line.startswith(f"job {job} "), line)
        self.first_line("eta", job)
        if answer["constraint"] not in ("none", "back-off", "next-plan"):  # With a time.
            self.assertEqual(line, f"job {job} {answer['why']}")
        return answer

    def ways(self, answer):
        return {way["kind"]: way for way in answer["ways"]}

    def end(self, *jobs):
        for job in jobs:
            self.daemon.post(f"/v1/jobs/{job}/cancel")
