//go:build linux

package main

// ruleRows returns the rows in which rules, spares and budgets decide about the next attempt.
func ruleRows() []row {
	die := []string{"HEAL_DIE=1:7", "HEAL_STEPS=40", "HEAL_PAUSE=0.1"}
	script := python("train.py", "plain")
	often := []string{framework + "plain", "--max-restarts=9", "--restart-on=any"}
	fails := []string{"sh", "-c", "echo loss 5 at $MUSTER_ATTEMPT; exit 3"}
	rule := func(action string) string {
		return `--restart-policy=[{"signals":["KILL"],"action":"` + action + `"}]`
	}
	return []row{
		{key: "rule/fail", what: "a rule says that a killed rank ends the run",
			flags: []string{framework + "plain", restarts, rule("Fail")}, argv: script, env: die, code: 137,
			wants: []want{attempts(1), says("no restart: rule 0 of --restart-policy says Fail")}},
		{key: "rule/ignore", what: "a rule says that a killed rank uses up no restart",
			flags: []string{framework + "plain", "--max-restarts=1", rule("Ignore")}, argv: script, env: die,
			wants: []want{attempts(2), resumes, says("this does not count as a restart")}},
		{key: "rule/spare", what: "a rule gives up the worker of a killed rank, and a spare takes its place",
			flags: []string{framework + "plain", restarts, "--workers=2", "--spares=1", rule("ReplaceWorker")}, argv: script, env: die,
			wants: []want{attempts(2), resumes, says("worker " + worker(1) + " was given up: " + worker(2) + " takes its place")}},
		{key: "rule/standstill", what: "each attempt prints the same number, and the third one is the last",
			flags: append(often, `--expect=loss (\d+)`, "--within=10m", "--max-no-progress=2"), argv: fails, code: 93,
			wants: []want{says("attempt 3 of 10", "loss 5 at 2"), silentAbout("loss 5 at 3")}},
		{key: "rule/budget", what: "at most one restart in an hour",
			flags: append(often, "--max-restarts-per=1/1h"), argv: fails, code: 3,
			wants: []want{says("loss 5 at 1", "no restart: --max-restarts-per=1/1h allows no further restart now"), silentAbout("loss 5 at 2")}},
	}
}
