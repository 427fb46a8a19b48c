//go:build linux

package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/musterhq/muster/test/lab/bench/pods"
	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/kube"
)

//go:embed testdata/flow.py
var flow []byte

const file = "/tmp/file"

// world is a job with one worker, whose launcher sleeps.
type world struct {
	space pods.Space
	job   pods.Job
}

// prepare starts the job, and copies kubectl and the file into its pods.
func (w *world) prepare(ctx context.Context, mib int) error {
	if _, err := w.space.Start(ctx, w.job); err != nil {
		return err
	}
	if err := w.ready(ctx); err != nil {
		return err
	}
	program, err := os.ReadFile(kube.Path())
	if err != nil {
		return fmt.Errorf("read kubectl: %w", err)
	}
	if _, err := w.space.Kubectl(ctx, program, "exec", "-i", w.job.LauncherName(), "--", "sh", "-c", "cat > /tmp/kubectl && chmod 755 /tmp/kubectl"); err != nil {
		return err
	}
	size := fmt.Sprint(mib << 20)
	for _, pod := range []string{w.job.LauncherName(), w.job.WorkerName(0)} {
		said, err := w.space.Kubectl(ctx, nil, "exec", pod, "--", "sh", "-c", "head -c "+size+" /dev/urandom > "+file+" && wc -c < "+file)
		if err != nil {
			return err
		}
		if strings.TrimSpace(said) != size {
			return fmt.Errorf("create %s in %s: got %s bytes, not %s", file, pod, strings.TrimSpace(said), size)
		}
	}
	return nil
}

// ready waits for the launcher's link.
func (w *world) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return await.Until(ctx, 200*time.Millisecond, "the link", func() (bool, error) {
		said, err := w.space.Kubectl(ctx, nil, "logs", w.job.LauncherName())
		if err != nil {
			return true, err
		}
		if strings.Contains(said, "1/1 ready") {
			return true, nil
		}
		return false, fmt.Errorf("the launcher's log:\n%s", said)
	})
}

// contender is a way to reach the worker.
type contender struct {
	name string
	line string // command line for sh; it prints the number of bytes received
}

// set is a group of contenders that are compared with each other.
type set struct {
	name       string
	sessions   int
	mib        int // for each session
	rounds     int // rounds that count
	contenders []contender
}

func sets(o options) []set {
	const kubectl, spdy = "/tmp/kubectl exec ", "KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false "
	out := []contender{
		{"Muster", "agent rsh stream-worker-0 cat " + file + " | wc -c"},
		{"kubectl exec", kubectl + "stream-worker-0 -- cat " + file + " | wc -c"},
		{"kubectl exec by SPDY", spdy + kubectl + "stream-worker-0 -- cat " + file + " | wc -c"},
	}
	in := []contender{
		{"Muster, standard input", "agent rsh stream-worker-0 wc -c < " + file},
		{"kubectl exec, standard input", kubectl + "-i stream-worker-0 -- wc -c < " + file},
	}
	return []set{
		{"one session", 1, o.mib, o.rounds, out},
		{"four sessions", 4, o.mib, o.several, out},
		{"standard input", 1, o.mib, o.several, in},
	}
}

// transfer holds the measurements of one transfer.
type transfer struct {
	Bytes, Seconds            float64
	Launcher, Worker, Machine float64 // seconds of CPU time
}

// samples holds the transfers of a contender in a set.
type samples struct {
	Contender string
	Sessions  int
	Wanted    float64 // bytes
	Transfers []transfer
}

// rounds runs a set.
func (w *world) rounds(ctx context.Context, s set) ([]samples, error) {
	all := make([]samples, len(s.contenders))
	order := make([]int, len(all))
	for i, c := range s.contenders {
		order[i] = i
		all[i] = samples{Contender: c.name, Sessions: s.sessions, Wanted: float64(s.sessions * s.mib << 20)}
	}
	for round := range s.rounds + 1 {
		for _, i := range order {
			t, err := w.transfer(ctx, s.sessions, s.contenders[i].line)
			if err != nil {
				return nil, err
			}
			if i == 0 && t.Bytes != all[i].Wanted || t.Bytes > all[i].Wanted {
				return nil, fmt.Errorf("%s: got %.0f bytes, not %.0f", s.contenders[i].name, t.Bytes, all[i].Wanted)
			}
			fmt.Fprintf(os.Stderr, "throughput: %s, round %d: %s %.0f MiB/s\n", s.name, round, s.contenders[i].name, t.rate())
			if round > 0 {
				all[i].Transfers = append(all[i].Transfers, t)
			}
		}
		slices.Reverse(order)
	}
	return all, nil
}

func (w *world) transfer(ctx context.Context, sessions int, line string) (t transfer, err error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	said, err := w.space.Kubectl(ctx, flow, "exec", "-i", w.job.LauncherName(), "--", "python3", "-", fmt.Sprint(sessions), w.job.WorkerName(0), line)
	if err != nil {
		return t, err
	}
	if _, err := fmt.Sscan(said, &t.Bytes, &t.Seconds, &t.Launcher, &t.Worker, &t.Machine); err != nil || t.Seconds <= 0 {
		return t, errors.Join(err, fmt.Errorf("read transfer: %q", said))
	}
	return t, nil
}

func (t transfer) mib() float64  { return t.Bytes / (1 << 20) }
func (t transfer) rate() float64 { return t.mib() / t.Seconds }
