//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// join returns the command of the members of a job without a launcher.
func join(size int, flags []string, command ...string) []string {
	return append(append(append([]string{"join", fmt.Sprintf("--workers=%d", size)}, flags...), "--"), command...)
}

// lateBy is how much later than the others the last member starts.
const lateBy = 60 * time.Second

// joinRows returns the rows of jobs without a launcher.
func joinRows() []row {
	token := "MUSTER_TOKEN=only-for-this-test-and-long-enough" //nolint:gosec // G101: the name says so
	die := []string{token, "HEAL_DIE=1:7", "HEAL_STEPS=12", "HEAL_PAUSE=0.1"}
	return []row{
		{key: "join/rank", what: "PyTorch under agent join: a rank is killed", venv: "torch", alone: true, ci: true, times: 10,
			worker: join(3, []string{framework + "torch", restarts}, python("train.py", "torch")...), env: die, wants: []want{attempts(2), resumes}},
		{key: "join/twenty", what: "agent join, 20 members, one of them 60 s late", workers: 20, alone: true, single: true, times: 2, late: []int{19}, limit: 6 * time.Minute,
			worker: join(20, []string{framework + "plain"}, python("train.py", "plain")...), env: []string{token, "HEAL_STEPS=3", "HEAL_PAUSE=1"},
			during: comesLate(19), wants: []want{attempts(1), soonTogether(19)}},
		{key: "join/missing", what: "agent join: a member never comes", alone: true, ci: true, never: []int{2}, code: 75,
			worker: join(3, []string{framework + "plain", "--timeout=20s"}, python("train.py", "plain")...), env: []string{token},
			wants: []want{saidTimes(2, "2 of 3 members joined within 20s: rank 2: ")}},
		{key: "join/fails", what: "agent join: a member fails, the others stop", alone: true, ci: true, code: 7,
			worker: join(3, []string{framework + "plain"}, "sh", "-c", `[ "$RANK" = 1 ] && sleep 3 && exit 7; sleep 1000`), env: []string{token},
			wants: []want{saidTimes(3, "rank 1 on "+worker(1)+" exited with 7")}},
		{key: "join/zero", what: "agent join: rank 0's pod is replaced during the barrier", alone: true, late: []int{2},
			worker: join(3, []string{framework + "plain"}, python("train.py", "plain")...), env: []string{token, "HEAL_STEPS=3"},
			during: replacesZero, wants: []want{attempts(1), saidBy(3)}},
	}
}

// comesLate creates a member after the others have waited for a long time, and records
// when the cluster reports it as Ready.
func comesLate(i int) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		if err := await.Pause(ctx, lateBy); err != nil {
			return err
		}
		if err := w.make(ctx, i); err != nil {
			return err
		}
		_, err := kube.Kubectl(ctx, w.ns, nil, "wait", "--for=condition=Ready", "pod/"+worker(i), "--timeout=2m")
		w.struck = time.Now()
		return err
	}
}

// replacesZero replaces rank 0's pod while the members wait, and creates the last
// member afterwards.
func replacesZero(ctx context.Context, w *world) error {
	if err := w.await(ctx, func() bool { _, err := says("rank 2")(w); return err == nil }); err != nil { // the members wait for rank 2
		return err
	}
	if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pod", worker(0), "--force", "--grace-period=0", "--wait=false"); err != nil {
		return err
	}
	if err := await.Pause(ctx, 2*time.Second); err != nil {
		return err
	}
	if err := errors.Join(w.make(ctx, 0), await.Pause(ctx, 5*time.Second)); err != nil {
		return err
	}
	return w.make(ctx, 2)
}

// soonTogether measures the time from the last member's Ready to the first line of a rank. It also
// measures the time from the start of that member's PID 1 to the first process and to that line.
func soonTogether(last int) want {
	return func(w *world) (string, error) {
		came, began := 0.0, math.Inf(1)
		for _, l := range w.said("start") {
			if l.Host == worker(last) {
				came = l.Pod
			}
			began = min(began, l.Begun)
		}
		first := w.firstOf(0)
		if came == 0 || w.struck.IsZero() {
			return "", errors.New("the last member printed nothing, or was never Ready")
		}
		took := max(0, first.Sub(w.struck).Seconds())
		spoke := float64(first.UnixMicro())/1e6 - came
		w.figure("seconds from the last of 20 members being ready to the first rank's line", took)
		w.figure("seconds from the start of the last of 20 members to the first rank's process", began-came)
		w.figure("seconds from the start of the last of 20 members to the first rank's line", spoke)
		return fmt.Sprintf("%.2f s from the last member being ready to the first rank's line; from its start %.2f s to the first process, %.2f s to that line",
			took, began-came, spoke), nil
	}
}

// saidTimes checks that at least n lines contain words.
func saidTimes(n int, words string) want {
	return func(w *world) (string, error) {
		got := strings.Count(strings.Join(w.text(), "\n"), words)
		if got < n {
			return "", fmt.Errorf("%d lines with %q, not %d", got, words, n)
		}
		return "each says: " + words, nil
	}
}

// saidBy checks that n ranks finished.
func saidBy(n int) want {
	return func(w *world) (string, error) {
		if got := len(w.said("end")); got != n {
			return "", fmt.Errorf("%d ranks finished, not %d", got, n)
		}
		return fmt.Sprintf("%d ranks", n), nil
	}
}

// elasticRows returns the rows in which workers join and leave while the job runs.
func elasticRows() []row {
	flags := []string{"--min-workers=2", "--max-workers=5"}
	return []row{
		{key: "elastic/torchrun", what: "torchrun c10d: 3, 5 and 2 workers; the one with the store leaves, too", venv: "torch", ci: true,
			flags: flags, argv: []string{"torchrun", "{scripts}/torch_elastic.py"}, during: resizes(3, 5, 2), wants: []want{sizes(3, 5, 2), neverBehind}},
		{key: "elastic/script", what: "a PyTorch script, restarted by agent run: 3, 5 and 2 workers", venv: "torch",
			flags: append(flags, framework+"torch"), argv: python("torch_elastic.py"), during: resizes(3, 5, 2), wants: []want{sizes(3, 5, 2), neverBehind}},
		{key: "elastic/horovod", what: "Horovod elastic over agent hosts: 2, 3 and 2 workers", venv: "horovod", also: []string{"torch"}, workers: 2,
			flags: []string{"--min-workers=2", "--max-workers=3"}, argv: append([]string{"horovodrun", "--gloo"}, python("horovod_elastic.py")...),
			during: resizes(2, 3, 2), wants: []want{sizes(2, 3, 2), neverBehind}},
	}
}

// elastic reports whether the row's flags set the number of workers.
func (r row) elastic() bool {
	return slices.ContainsFunc(r.flags, func(flag string) bool { return strings.HasPrefix(flag, "--min-workers") })
}

// resizes creates or deletes workers for each size of the world in turn, and ends the job after
// the last one. It deletes the first worker and others.
func resizes(of ...int) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		var there []int
		for i := range of[0] {
			there = append(there, i)
		}
		for _, size := range of {
			for len(there) < size {
				i := len(there)
				pod, err := w.workerPod(i, nodes[i%len(nodes)])
				if err != nil {
					return err
				}
				if err := kube.Apply(ctx, w.ns, pod); err != nil {
					return err
				}
				there = append(there, i)
			}
			for len(there) > size { // every second one, to leave gaps
				at := (len(there) - size) % 2
				if _, err := kube.Kubectl(ctx, w.ns, nil, "delete", "pod", worker(there[at]), "--wait=false"); err != nil {
					return err
				}
				there = slices.Delete(there, at, at+1)
			}
			if err := w.await(ctx, func() bool { return w.worldNow() == size }); err != nil {
				return fmt.Errorf("wait for a world of %d, seen %v: %w", size, w.worlds(), err)
			}
		}
		return os.WriteFile(filepath.Join(w.shared, "enough"), nil, 0o644)
	}
}

// worlds returns the sizes of the world in which steps were saved, without
// repetitions.
func (w *world) worlds() (list []int) {
	for _, l := range w.said("saved") {
		if len(list) == 0 || list[len(list)-1] != l.World {
			list = append(list, l.World)
		}
	}
	return list
}

func (w *world) worldNow() int {
	list := w.worlds()
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1]
}

// sizes checks that the script saw these sizes in order. Other sizes in between occur
// when some pods joined or left before the others.
func sizes(of ...int) want {
	return func(w *world) (string, error) {
		seen, rest := w.worlds(), of
		for _, size := range seen {
			if len(rest) > 0 && size == rest[0] {
				rest = rest[1:]
			}
		}
		if len(rest) > 0 {
			return "", fmt.Errorf("the sizes of the world were %v, not %v", seen, of)
		}
		return fmt.Sprintf("worlds of %v", seen), nil
	}
}

// neverBehind checks that no rank started at a step before the last saved one.
func neverBehind(w *world) (string, error) {
	saved := w.said("saved")
	for _, b := range w.said("begin") {
		for _, s := range saved {
			if s.T < b.T && s.Step > b.Step {
				return "", fmt.Errorf("a rank started at step %d after step %d was saved", b.Step, s.Step)
			}
		}
	}
	if len(saved) == 0 {
		return "", errors.New("nothing was saved")
	}
	return fmt.Sprintf("%d steps, no saved step was lost", saved[len(saved)-1].Step), nil
}
