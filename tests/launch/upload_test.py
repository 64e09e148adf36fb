"""--upload: files of a run arrive elsewhere, and nothing that happens there harms the run."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "apps"))
import harness  # noqa: E402

OPTIONS = ["--dir", "out", "--epochs", "2", "--batch-size", "16", "--train-samples", "64", "--test-samples", "16",
           "--save-steps", "2", "--threads", "1", "--verbose", "2"]


class Upload(harness.ProgramTest):
    def script(self, body):
        path = self.work / "store; touch broken"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o700)
        return f'"{path}" {{file}} "there/{{name}}"'

    def test_a_directory_gets_all_that_a_run_makes(self):
        result = self.train(*OPTIONS, "--upload", "there", ranks=2)
        self.assert_trained(result)
        made, got = harness.snapshot(self.work / "out"), harness.snapshot(self.work / "there")
        for name, content in made.items():
            self.assertEqual(got.get(name), content, name)
        self.assertIn("model-001-00002.h5", got)
        self.assertRegex(result.out, r"Uploaded: \d+ files?")

    def test_a_command_that_fails_costs_a_warning(self):
        result = self.train(*OPTIONS, "--upload", self.script("echo no route to $2 >&2; exit 3"), "--upload-timeout", "1")
        self.assert_trained(result, warnings=(r"model-001-00002.h5 is not uploaded: .*exit status 3: no route to there/model",
                                              r"not uploaded: .*report.html.* \(.*no route"))
        self.assertFalse((self.work / " touch broken").exists() or (self.work / "broken").exists())

    def test_a_command_that_hangs_is_killed_at_the_end(self):
        mark = self.work / "child"
        result = self.train(*OPTIONS, "--upload", self.script(f"echo $$ > '{mark}'; exec sleep 1000"), "--upload-timeout",
                            "1")
        self.assertEqual(result.status, 0, result)
        self.assertIn("Test accuracy", result.out)
        self.assertRegex(result.err, "not uploaded: .*model-001-00002.h5.*not done after 1 s")
        stat = pathlib.Path(f"/proc/{mark.read_text().strip()}/stat")
        self.assertTrue(not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")

    def test_what_cannot_work_is_refused_before_any_work(self):
        for place, status, words in (("s3://bucket/run", 2, "is no directory; a command says"),
                                     ("no-such-program {file}", 74, "no such program here"), ("out", 2, "is where the files")):
            self.assert_refused(self.train(*OPTIONS, "--upload", place, ranks=2), status, words)
        self.assert_refused(self.train("--dir", "s3://bucket/run"), 2, "no directory of this machine")
        self.assertFalse(os.path.exists(self.work / "s3:"))


if __name__ == "__main__":
    harness.main()
