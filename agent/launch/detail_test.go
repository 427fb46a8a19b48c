//go:build linux

package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/musterhq/muster/agent/event"
	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/record"
	"github.com/musterhq/muster/agent/launch/stall"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/progress"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
)

func TestDetailOfAnEnd(t *testing.T) {
	workers := []rendezvous.Worker{{Name: "w-0", Container: "main"}, {Name: "w-1", Container: "trainer"}}
	failure := func(x wire.ExitRecord, err error) group.Result {
		f := group.Failure{End: group.End{Exit: x, Err: err}, Label: "rank 1", Worker: "w-1", Tail: []string{"NCCL error"}}
		return group.Result{Code: f.Code(), Cause: &f}
	}
	for name, row := range map[string]struct {
		result group.Result
		hung   bool
		want   retry.Detail
	}{
		"a signal":           {failure(wire.ExitRecord{Code: 139, Signal: 11}, nil), false, retry.Detail{Signal: 11, Worker: "w-1", Container: "trainer", Output: []string{"NCCL error"}}},
		"a rank of torchrun": {failure(wire.ExitRecord{Failed: &wire.RankRecord{Code: 137, Signal: 9}}, nil), false, retry.Detail{Signal: 9, Worker: "w-1", Container: "trainer", Output: []string{"NCCL error"}}},
		"a lost worker":      {failure(wire.ExitRecord{}, errors.New("gone")), false, retry.Detail{Worker: "w-1", Container: "trainer", Output: []string{"NCCL error"}}},
		"we stopped it":      {failure(wire.ExitRecord{Code: 143, Signal: 15}, nil), true, retry.Detail{Worker: "w-1", Container: "trainer", Output: []string{"NCCL error"}}},
		"nothing is known":   {group.Result{Code: 3}, false, retry.Detail{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{workers: workers, grouped: grouped{result: row.result}, watcher: &supervise.Supervisor{}}
			a.verdict.Code = row.result.Code
			if row.hung {
				a.verdict.Code = names.ExitHung
			}
			require.Equal(t, row.want, (&runner{}).endOf(a).Detail)
		})
	}
}

// TestWorkerOfABrokenRule checks that the worker of a rank is known if the rank is at fault, and not
// if it only printed last.
func TestWorkerOfABrokenRule(t *testing.T) {
	rank := "rank 1"
	planned := plan.Plan{Hosts: []plan.Host{{Name: "w-0"}, {Name: "w-1"}}, Processes: []plan.Process{{Worker: 0, Label: "rank 0"}, {Worker: 1, Label: rank}}}
	for guilty, want := range map[bool]string{true: "w-1", false: ""} {
		a := &attempt{plan: planned, watcher: &supervise.Supervisor{Findings: supervise.Findings{Stalled: &rank, Guilty: guilty}}, verdict: verdict.Verdict{Code: names.ExitHung}}
		worker, label := a.origin()
		require.Equal(t, []string{want, rank}, []string{worker, label})
	}
}

func TestProgressOfAnAttempt(t *testing.T) {
	r, _ := runnerWith(t, 2)
	r.account.Policy.MaxNoProgress = 3
	a := &attempt{plan: plan.Plan{Hosts: []plan.Host{{Name: "w-1"}, {Name: "w-0"}}, Processes: []plan.Process{{Worker: 0, Rank: 1}, {Worker: 1, Rank: 0}}}, watcher: &supervise.Supervisor{}}
	require.Equal(t, retry.Progress{}, r.endOf(a).Progress)

	progressOf := func(a *attempt) retry.Progress {
		r.lookUpSaved(t.Context(), a)
		return r.progressOf(a)
	}
	dir := t.TempDir()
	path, at := filepath.Join(dir, "1.pt"), time.Unix(1_700_000_000, 7)
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	require.NoError(t, os.Chtimes(path, at, at))
	r.cfg.Chdir, r.cfg.ProgressFile = dir, "*.pt"
	want := retry.Progress{By: retry.ByFile, Name: "--progress-file=*.pt", At: []float64{1_700_000_000, 7}, Text: "2023-11-14T22:13:20Z"}
	require.Equal(t, want, progressOf(a), "on the worker of rank 0")
	r.links.Forget([]string{"w-0"})
	r.warned = map[string]bool{}
	require.True(t, progressOf(a).Unknown, "that worker is lost")
	require.Len(t, r.warned, 1)
	here := &attempt{watcher: &supervise.Supervisor{}}
	require.Equal(t, want, progressOf(here), "in the launcher")
	r.cfg.ProgressFile = "*.bin"
	require.Equal(t, retry.Progress{By: retry.ByFile, Name: "--progress-file=*.bin"}, progressOf(here))

	r.cfg.Progress = []progress.Word{{Flag: "expect", Value: `step (\d+)`}, {Flag: "within", Value: "1h"}}
	require.Equal(t, retry.Progress{By: retry.ByNumber, Unknown: true}, progressOf(here), "nothing was started")
	here.progress = stall.New(r.cfg.Progress, 0, 0)
	_, _ = here.progress.Hear(0, nil).Write([]byte("step 7\n"))
	require.Equal(t, retry.Progress{By: retry.ByNumber, Name: `expect 'step (\d+)'`, At: []float64{7}, Text: "7"}, progressOf(here))
}

// TestWhatAFailedAttemptHasSaved checks that only a file of the attempt itself is its checkpoint, and that
// nothing is recorded if that is unknown.
func TestWhatAFailedAttemptHasSaved(t *testing.T) {
	began, dir := time.Now().Add(-time.Hour), t.TempDir()
	path := filepath.Join(dir, "1.pt")
	for name, row := range map[string]struct {
		glob  string
		at    time.Time // of the file
		unfit []string
		want  []string
	}{
		"a checkpoint":                  {"*.pt", began.Add(time.Minute), nil, []string{"saved 60"}},
		"one of an earlier attempt":     {"*.pt", began.Add(-time.Minute), nil, []string{"unsaved"}},
		"none":                          {"*.bin", began, nil, []string{"unsaved"}},
		"no flag":                       {"", began, nil, nil},
		"a pattern that cannot be read": {"[", began, nil, nil},
		"an attempt that did not start": {"*.pt", began.Add(time.Minute), []string{"w-0"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, os.WriteFile(path, nil, 0o644))
			require.NoError(t, os.Chtimes(path, row.at, row.at))
			r := &runner{}
			var err error
			r.record, err = record.Open(t.TempDir(), "a")
			require.NoError(t, err)
			r.cfg.Chdir, r.cfg.ProgressFile = dir, row.glob
			r.lookUpSaved(t.Context(), &attempt{began: began, unready: unready{unfit: row.unfit}, watcher: &supervise.Supervisor{}})
			r.record.Close()
			var got []string
			_, err = r.record.Each(func(e event.Event) {
				word := string(e.Kind)
				if e.Kind == event.Saved {
					word += fmt.Sprintf(" %.0f", e.Time.Sub(began).Seconds())
				}
				got = append(got, word)
			})
			require.NoError(t, err)
			require.Equal(t, row.want, got)
		})
	}
}

// TestBrokenDevice checks that a device error in the output, or in the status of the worker's pod, is
// one, and that another worker's is not.
func TestBrokenDevice(t *testing.T) {
	unhealthy := func(name string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{AllocatedResourcesStatus: []corev1.ResourceStatus{{Resources: []corev1.ResourceHealth{{Health: corev1.ResourceHealthStatusUnhealthy}}}}}}
		return p
	}
	for name, row := range map[string]struct {
		line string
		pods []*corev1.Pod
		want bool
	}{
		"the program failed": {"CUDA error: an illegal memory access was encountered", nil, false},
		"its output":         {"CUDA error: uncorrectable ECC error encountered", nil, true},
		"its pod":            {"CUDA error: unknown error", []*corev1.Pod{unhealthy("w-1")}, true},
		"another pod":        {"CUDA error: unknown error", []*corev1.Pod{unhealthy("w-0")}, false},
	} {
		r := &runner{shot: rendezvous.Snapshot{Pods: row.pods}}
		f := group.Failure{Label: "rank 1", Worker: "w-1", Tail: []string{"Traceback:", row.line}}
		a := &attempt{grouped: grouped{result: group.Result{Code: 1, Cause: &f}}, watcher: &supervise.Supervisor{}, verdict: verdict.Verdict{Code: 1}}
		require.Equal(t, row.want, r.endOf(a).Device, name)
	}
}

// TestWhyAWorkerIsGivenUp checks that only failed checks and broken devices give a reason, and only to
// the workers that have them.
func TestWhyAWorkerIsGivenUp(t *testing.T) {
	workers := []rendezvous.Worker{{Name: "w-0"}, {Name: "w-1"}, {Name: "w-2"}}
	for name, row := range map[string]struct {
		line   string
		unfit  []string
		action retry.Action
		want   map[string]string
	}{
		"the program failed":         {"Traceback", nil, retry.ReplaceWorker, map[string]string{"w-1": ""}},
		"a broken device":            {"CUDA error: uncorrectable ECC error encountered", nil, retry.ReplaceWorker, map[string]string{"w-1": names.WhyDevice}},
		"all pods, a broken device":  {"CUDA error: uncorrectable ECC error encountered", nil, retry.RestartPods, map[string]string{"w-0": "", "w-1": names.WhyDevice}},
		"failed checks":              {"", []string{"w-0", "w-1"}, retry.ReplaceWorker, map[string]string{"w-0": names.WhyPreflight, "w-1": names.WhyPreflight}},
		"all pods, one failed check": {"", []string{"w-0"}, retry.RestartPods, map[string]string{"w-0": names.WhyPreflight, "w-1": ""}},
		"a restart in place":         {"Traceback", nil, retry.Restart, map[string]string{}},
	} {
		a := &attempt{workers: workers, unready: unready{unfit: row.unfit}, watcher: &supervise.Supervisor{}, verdict: verdict.Verdict{Code: 1}}
		if row.line != "" {
			a.result = group.Result{Code: 1, Cause: &group.Failure{Label: "rank 1", Worker: "w-1", Tail: []string{row.line}}}
		}
		require.Equal(t, row.want, (&runner{}).chosen(a, row.action, []string{"w-2"}), name)
	}
}

func TestGiveUp(t *testing.T) {
	for action, want := range map[retry.Action][]string{retry.Restart: nil, retry.ReplaceWorker: {"w-1"}, retry.RestartPods: {"w-0", "w-1"}} {
		r, workers := runnerWith(t, 3)
		f := group.Failure{Label: "rank 1", Worker: "w-1"}
		a := &attempt{workers: workers, grouped: grouped{result: group.Result{Code: 3, Cause: &f}}, watcher: &supervise.Supervisor{}, verdict: verdict.Verdict{Code: 3}}
		got, err := r.giveUp(t.Context(), t.Context(), a, action, []string{"w-2"})
		require.NoError(t, err)
		require.Equal(t, want, got, "%s: w-2 is replaced anyway", action)
	}
}
