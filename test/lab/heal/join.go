//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

// join is what the members of a job without a launcher run.
func join(size int, flags []string, command ...string) []string {
	return append(append(append([]string{"join", fmt.Sprintf("--workers=%d", size)}, flags...), "--"), command...)
}

// lateBy is how much later than the others the last member comes.
const lateBy = 60 * time.Second

// joinRows: jobs without a launcher.
func joinRows() []row {
	token := "MUSTER_TOKEN=only-for-this-test-and-long-enough"
	die := []string{token, "HEAL_DIE=1:7", "HEAL_STEPS=12", "HEAL_PAUSE=0.1"}
	return []row{
		{key: "join/rank", what: "PyTorch under agent join: a rank is killed", venv: "torch", alone: true, ci: true, times: 10,
			worker: join(3, []string{framework + "torch", restarts}, python("train.py", "torch")...), env: die, wants: []want{attempts(2), resumes}},
		{key: "join/twenty", what: "agent join, 20 members, one of them 60 s late", workers: 20, alone: true, times: 2, late: []int{19}, limit: 6 * time.Minute,
			worker: join(20, []string{framework + "plain"}, python("train.py", "plain")...), env: []string{token, "HEAL_STEPS=3", "HEAL_PAUSE=1"},
			during: comesLate(19), wants: []want{attempts(1), soonTogether(19)}},
		{key: "join/missing", what: "agent join: a member never comes", alone: true, ci: true, never: []int{2}, code: 75,
			worker: join(3, []string{framework + "plain", "--timeout=20s"}, python("train.py", "plain")...), env: []string{token},
			wants: []want{saidTimes(2, "2 of 3 members came within 20s: rank 2: ")}},
		{key: "join/fails", what: "agent join: a member fails, the others stop", alone: true, ci: true, code: 7,
			worker: join(3, []string{framework + "plain"}, "sh", "-c", `[ "$RANK" = 1 ] && sleep 3 && exit 7; sleep 1000`), env: []string{token},
			wants: []want{saidTimes(3, "rank 1 on "+worker(1)+" exited with 7")}},
		{key: "join/zero", what: "agent join: rank 0's pod is replaced during the barrier", alone: true, late: []int{2},
			worker: join(3, []string{framework + "plain"}, python("train.py", "plain")...), env: []string{token, "HEAL_STEPS=3"},
			during: replacesZero, wants: []want{attempts(1), saidBy(3)}},
	}
}

// comesLate has a member come when the others have waited for long, and takes down
// when the cluster calls it ready.
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

// replacesZero takes rank 0's pod away while the others wait, and has the last
// member come afterwards.
func replacesZero(ctx context.Context, w *world) error {
	if err := w.await(ctx, func() bool { _, err := says("rank 2")(w); return err == nil }); err != nil { // it is waited for
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

// soonTogether: from when the last member was ready to the first line of a rank;
// beside it, from that member's PID 1 to the first process and to that line.
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
			return "", errors.New("the last member said nothing, or never was ready")
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

// saidTimes: so many members say this, or more.
func saidTimes(n int, words string) want {
	return func(w *world) (string, error) {
		got := strings.Count(strings.Join(w.text(), "\n"), words)
		if got < n {
			return "", fmt.Errorf("%d say %q, not %d", got, words, n)
		}
		return "each says: " + words, nil
	}
}

// saidBy: so many ranks came to their end.
func saidBy(n int) want {
	return func(w *world) (string, error) {
		if got := len(w.said("end")); got != n {
			return "", fmt.Errorf("%d ranks came to their end, not %d", got, n)
		}
		return fmt.Sprintf("%d ranks", n), nil
	}
}
