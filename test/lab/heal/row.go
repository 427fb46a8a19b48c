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

// row is one job and what befalls it.
type row struct {
	key     string // on the command line
	what    string // for the table
	venv    string // the Python environment; "": Debian's Python alone
	also    []string
	workers int      // 0: 3
	flags   []string // of agent run
	argv    []string // its command; {scripts} and {shared} are directories
	worker  []string // of the workers' containers; nil: agent worker
	env     []string // K=V, in every pod
	alone   bool     // no launcher: the workers are all there is
	late    []int    // workers that are not made at first
	never   []int    // nor ever
	grace   int      // of the pods, seconds; 0: 30
	code    int      // that the launcher ends with
	times   int      // how often it is run; 0: once
	limit   time.Duration
	ci      bool // in the subset
	printed bool // what is seen is shown, and nothing is wanted
	during  func(ctx context.Context, w *world) error
	wants   []want
}

// want is what has to be seen. The text goes into the table.
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

// judge gives what was seen, and the first thing that was not as wanted.
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

// nothingOld: where an attempt began nothing of an earlier one lived.
func nothingOld(w *world) (string, error) {
	if n := w.old(); n > 0 {
		return "", fmt.Errorf("%d processes of an earlier attempt were still there", n)
	}
	return "", nil
}

func portsOnce(w *world) (string, error) {
	if n := w.portsTwice(); n > 0 {
		return "", fmt.Errorf("%d ports were used by two attempts", n)
	}
	return "", nil
}

// attempts: the job took so many.
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

// resumes: the second attempt went on where the checkpoint of the first stood, and
// brought the work to its end.
func resumes(w *world) (string, error) {
	from, there := 0, false
	for _, l := range w.said("begin") {
		if l.Attempt > 0 && (!there || l.Step < from) {
			from, there = l.Step, true
		}
	}
	if !there || from == 0 {
		return "", errors.New("no later attempt went on from a checkpoint")
	}
	return fmt.Sprintf("went on from step %d", from), finishes(w)
}

// finishes: every step was done.
func finishes(w *world) error {
	ends := w.said("end")
	if len(ends) == 0 {
		return errors.New("no rank came to its end")
	}
	return nil
}

// within: the time from the event to the next attempt's first line.
func within(figure string, bar time.Duration) want {
	return func(w *world) (string, error) {
		first := w.firstOf(1)
		if w.struck.IsZero() || first.IsZero() {
			return "", errors.New("nothing happened, or no second attempt began")
		}
		took := first.Sub(w.struck)
		w.figure(figure, took.Seconds())
		if took > bar {
			return "", fmt.Errorf("%.1f s from the loss to the new attempt's first line, not %s", took.Seconds(), bar)
		}
		return fmt.Sprintf("%.1f s from the loss to the new attempt's first line", took.Seconds()), nil
	}
}

// says: the launcher's output has these.
func says(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if !strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher does not say %q", word)
			}
		}
		return "", nil
	}
}

// silentAbout: it has none of these.
func silentAbout(words ...string) want {
	return func(w *world) (string, error) {
		text := strings.Join(w.text(), "\n")
		for _, word := range words {
			if strings.Contains(text, word) {
				return "", fmt.Errorf("the launcher says %q", word)
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
	for _, part := range [][]row{rankRows(), otherRows(), podRows(), hangRows(), twentyRows(), joinRows(), elasticRows()} {
		all = append(all, part...)
	}
	return all
}

func python(script string, words ...string) []string {
	return append([]string{"python3", "{scripts}/" + script}, words...)
}

// rankRows: a rank is killed, and the job goes on from its checkpoint.
func rankRows() []row {
	die := []string{"HEAL_DIE=1:7", "HEAL_STEPS=12", "HEAL_PAUSE=0.1"}
	wants := []want{attempts(2), resumes, says("attempt 2 of 3")}
	return []row{
		{key: "torch/rank", what: "PyTorch: a rank is killed", venv: "torch", ci: true, times: 10,
			flags: []string{framework + "torch", restarts}, argv: python("train.py", "torch"), env: die, wants: wants},
		{key: "openmpi/rank", what: "Open MPI with a checkpoint file: a rank is killed", venv: "openmpi", ci: true, times: 10,
			flags: []string{restarts}, argv: append([]string{"mpirun"}, python("train.py", "mpi")...), env: die, wants: wants},
		{key: "torchrun/own", what: "beside it: torchrun's own --max-restarts=2, without ours", venv: "torch", times: 6, printed: true,
			argv: []string{"torchrun", "--max-restarts=2", "{scripts}/train.py", "torch"}, env: append(die, "HEAL_BY=torchrun")},
	}
}

// otherRows: the same with frameworks that notice nothing, or the wrong thing.
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

// podRows: pods, nodes and cables.
func podRows() []row {
	steps := []string{"HEAL_STEPS=60", "HEAL_PAUSE=0.25"}
	long := []string{"HEAL_STEPS=240", "HEAL_PAUSE=0.25"}
	flags := []string{framework + "torch", restarts}
	script := python("train.py", "torch")
	return []row{
		{key: "pod/deleted", what: "a worker's pod is deleted, and made anew by a plain loop", venv: "torch", ci: true, times: 3,
			flags: flags, argv: script, env: steps, during: deletes(1, 10, "--force", "--grace-period=0"),
			wants: []want{attempts(2), resumes, within("seconds from a pod's deletion to the new attempt's first line", 90*time.Second)}},
		{key: "pod/drained", what: "SIGTERM to a pod: its rank writes the checkpoint, no restart is used up", venv: "torch", ci: true, times: 3,
			flags: []string{framework + "torch", "--max-restarts=1"}, argv: script, env: append(steps, "HEAL_SAVE=term"), during: deletes(1, 10),
			wants: []want{attempts(2), resumes, left, says("this does not count as a restart")}},
		{key: "node/off", what: "a node loses its power", venv: "torch", times: 2, limit: 6 * time.Minute,
			flags: flags, argv: script, env: steps, during: loses(10),
			wants: []want{attempts(2), resumes, within("seconds from a node's loss to the new attempt's first line", 90*time.Second)}},
		{key: "node/cable", what: "a node's cable is pulled for 30 s", venv: "torch", times: 2, limit: 6 * time.Minute,
			flags: flags, argv: script, env: long, during: unplugs(10, 30*time.Second),
			wants: []want{attempts(1), says("redialed"), silentAbout(" lost: ")}},
	}
}

// left: a rank wrote its checkpoint because it was told to go, and the next attempt
// began no earlier than there.
func left(w *world) (string, error) {
	gone := w.said("left")
	if len(gone) == 0 {
		return "", errors.New("no rank wrote a checkpoint when it was told to go")
	}
	for _, l := range w.said("begin") {
		if l.Attempt > 0 && l.Step < gone[0].Step {
			return "", fmt.Errorf("step %d was kept, and %d is where it went on", gone[0].Step, l.Step)
		}
	}
	return fmt.Sprintf("step %d kept on SIGTERM", gone[0].Step), nil
}

// hangRows: what hangs is told from what computes.
func hangRows() []row {
	return []row{
		{key: "hang/reported", what: "a rank sits in a receive that nobody sends", venv: "torch", ci: true,
			flags: []string{framework + "torch", "--hang-after=12s", "--hang-action=stop"}, argv: python("train.py", "torch", "hang"), code: 79,
			env: []string{"HEAL_STEPS=12"}, wants: []want{attempts(1), hung}},
		{key: "hang/computing", what: "ranks compute for longer than that, and say nothing", ci: true,
			flags: []string{framework + "plain", "--hang-after=5s", "--hang-action=stop"}, argv: []string{"timeout", "--preserve-status", "25", "sh", "-c", "trap 'exit 0' TERM; while :; do :; done"},
			wants: []want{silentAbout("hang")}},
	}
}

// hung reports whether the hang report names the line of the program and the call of the ranks.
func hung(w *world) (string, error) {
	return "the lines were named", errors.Join(second(says("seems to hang", "train.py:", "; futex")(w)))
}

func second(_ string, err error) error { return err }

// twentyRows: how long a restart of many takes, and what it takes without one.
func twentyRows() []row {
	script := python("train.py", "plain")
	return []row{
		{key: "twenty/rank", what: "20 workers: a rank is killed", workers: 20, times: 5, ci: true,
			flags: []string{framework + "plain", restarts}, argv: script, env: []string{"HEAL_DIE=7:5", "HEAL_STEPS=30", "HEAL_PAUSE=0.2"},
			wants: []want{attempts(2), soon}},
		{key: "twenty/pods", what: "beside it: 20 pods are deleted and made anew", workers: 20, times: 2, printed: true, limit: 6 * time.Minute,
			flags: []string{framework + "plain"}, argv: script, env: []string{"HEAL_STEPS=100", "HEAL_PAUSE=0.1"}, during: deletesAll},
	}
}

// soon: from a rank's death to the new attempt's first line, without the time that
// the program itself takes to its first line.
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

// deletesAll is what one does without a restart in place: all pods go and come
// again. What is timed ends with the first line of the new ones.
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
