//go:build linux

package launch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/group"
	"github.com/musterhq/muster/agent/launch/command"
	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/supervise"
	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/agent/retry"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/wire"
)

func TestEndOfAnAttempt(t *testing.T) {
	planned := plan.Plan{Hosts: []plan.Host{{Name: "w-0"}, {Name: "w-1"}, {Name: "w-2"}}, Processes: []plan.Process{{Worker: 0}, {Worker: 1}}}
	failure := func(e group.End) group.Result {
		f := group.Failure{End: e, Label: "rank 1", Worker: "w-1"}
		return group.Result{Code: f.Code(), Cause: &f}
	}
	killed := failure(group.End{Exit: wire.ExitRecord{Code: 137, Signal: 9}})
	gone := failure(group.End{Err: &link.LostError{Worker: "w-1", Kind: link.Unknown, Err: errors.New("no such session")}})
	told := failure(group.End{Exit: wire.ExitRecord{Code: 0, Reason: wire.ReasonPreempted}})
	lost := func(name string) []verdict.Lost { return []verdict.Lost{{Worker: name, Cause: "the pod was deleted"}} }
	const rank1 = "rank 1 on w-1"
	for name, tc := range map[string]struct {
		result   group.Result
		evidence verdict.Evidence
		restart  string
		want     retry.End
	}{
		"killed":        {result: killed, want: retry.End{Code: 137, Why: rank1 + " was killed by SIGKILL"}},
		"out of memory": {result: killed, evidence: verdict.Evidence{Starved: []string{"w-1"}}, want: retry.End{Code: 137, OOM: true, Why: rank1 + " was killed by SIGKILL"}},
		"the worker of the rank is lost": {result: gone, evidence: verdict.Evidence{Lost: lost("w-1")},
			want: retry.End{Code: 76, Lost: true, Infra: true, Why: "worker w-1 lost: the pod was deleted"}},
		"the container was killed for its memory": {result: gone, evidence: verdict.Evidence{Lost: []verdict.Lost{{Worker: "w-1", Cause: "OOMKilled", Starved: true}}},
			want: retry.End{Code: 76, Lost: true, Infra: true, OOM: true, Why: "worker w-1 lost: OOMKilled"}},
		"a worker without a process is lost":   {result: killed, evidence: verdict.Evidence{Lost: lost("w-2")}, want: retry.End{Code: 137, Why: rank1 + " was killed by SIGKILL"}},
		"the worker does not know the session": {result: gone, want: retry.End{Code: 76, Infra: true, Why: rank1 + ": worker w-1 lost: no such session"}},
		"told to stop from outside": {result: told, evidence: verdict.Evidence{Leaving: []string{"w-1"}},
			want: retry.End{Code: 76, Preempted: true, Why: rank1 + " was ended because its worker was told to stop from outside"}},
		"a peer fails while another worker drains": {result: killed, evidence: verdict.Evidence{Leaving: []string{"w-0"}},
			want: retry.End{Code: 137, Preempted: true, Why: "worker w-0 was told to stop from outside; " + rank1 + " was killed by SIGKILL"}},
		"a draining worker is lost": {result: gone, evidence: verdict.Evidence{Lost: []verdict.Lost{{Worker: "w-1", Cause: "evicted", Leaving: true}}},
			want: retry.End{Code: 76, Lost: true, Infra: true, Preempted: true, Why: "worker w-1 was told to stop from outside; worker w-1 lost: evicted"}},
		"the launcher ended the attempt": {result: killed, restart: "worker w-3 joined", want: retry.End{Code: 137, Asked: true, Why: "worker w-3 joined"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &attempt{plan: planned, grouped: grouped{result: tc.result}, evidence: tc.evidence, watcher: &supervise.Supervisor{Findings: supervise.Findings{RestartFor: tc.restart}}, ran: time.Minute}
			a.verdict = verdict.JudgeGroup(0, groupEnd(tc.result), lostOf(tc.evidence.Lost, planned))
			tc.want.Lasted = time.Minute
			require.Equal(t, tc.want, a.end())
			worker, rank := a.origin()
			require.Equal(t, []string{"w-1", "rank 1"}, []string{worker, rank})
		})
	}
}

func TestEndOfACommand(t *testing.T) {
	rank := func(n, worker string, signal int) verdict.RankEnd {
		return verdict.RankEnd{Worker: worker, Signal: signal, Code: 128 + signal, What: "rank " + n + ", solver (pid 7), " + phrase.HowEnded(0, signal)}
	}
	trouble := func(r verdict.RankEnd) verdict.Trouble {
		return verdict.Trouble{Worker: r.Worker, What: r.What, Code: r.Code, Likely: verdict.OfSession}
	}
	told, shot := rank("0", "w-0", 15), rank("1", "w-1", 9)
	for name, tc := range map[string]struct {
		e            verdict.Evidence
		want         retry.End
		worker, rank string
	}{
		"mpirun's code identifies the first killed rank": {
			verdict.Evidence{Command: verdict.Command{Code: 137}, Ranks: []verdict.RankEnd{told, shot}, Troubles: []verdict.Trouble{trouble(told), trouble(shot)}},
			retry.End{Code: 137, Why: "worker w-1: rank 1, solver (pid 7), was killed by SIGKILL; mpirun exited with 137"}, "w-1", "rank 1"},
		"Hydra's code identifies no rank": {
			verdict.Evidence{Command: verdict.Command{Code: 255}, Ranks: []verdict.RankEnd{shot}, Troubles: []verdict.Trouble{{Worker: "w-0", What: "its session exited with 7", Code: 7, Likely: verdict.OfSession}}},
			retry.End{Code: 137, Why: "worker w-0: its session exited with 7; mpirun exited with 255"}, "w-0", ""},
		"Hydra's daemon fails before a rank is seen": {
			verdict.Evidence{Command: verdict.Command{Code: 255}, Troubles: []verdict.Trouble{{Worker: "w-0", What: "its session exited with 7", Code: 7, Likely: verdict.OfSession}}},
			retry.End{Code: 255, Infra: true, Why: "worker w-0: its session exited with 7; mpirun exited with 255"}, "w-0", ""},
		"255 is permanent without such a rank": {verdict.Evidence{Command: verdict.Command{Code: 255}}, retry.End{Code: 255, Why: "mpirun exited with 255"}, "", ""},
		"a worker is lost": {verdict.Evidence{Command: verdict.Command{Code: 205}, Lost: []verdict.Lost{{Worker: "w-1", Cause: "its node is lost"}}},
			retry.End{Code: 76, Lost: true, Why: "worker w-1 lost: its node is lost; mpirun exited with 205"}, "w-1", ""},
		"a daemon was frozen": {
			verdict.Evidence{Command: verdict.Command{Code: 143}, Ended: true, Troubles: []verdict.Trouble{{Worker: "w-1", What: "its orted has been stopped", Silent: true}}},
			retry.End{Code: 76, Infra: true, Why: "worker w-1: its orted has been stopped; mpirun did not end by itself"}, "w-1", ""},
		"out of memory": {verdict.Evidence{Command: verdict.Command{Code: 137}, Starved: []string{"w-2"}},
			retry.End{Code: 137, OOM: true, Why: "worker w-2 ran out of memory: the kernel killed a process there (OOM); mpirun exited with 137"}, "w-2", ""},
		"everything ran in the launcher": {verdict.Evidence{}, retry.End{Code: 76,
			Why: "mpirun exited with 0, but it started nothing on any of the 3 workers: everything ran in the launcher"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.e.Name, tc.e.Rule, tc.e.Workers = "mpirun", verdict.ExitStrict, 3
			a := &attempt{command: &command.Command{}, evidence: tc.e, verdict: verdict.Judge(tc.e), watcher: &supervise.Supervisor{}}
			require.Equal(t, tc.want, a.end())
			worker, rank := a.origin()
			require.Equal(t, []string{tc.worker, tc.rank}, []string{worker, rank})
		})
	}
}

func TestOriginOfAFailedSession(t *testing.T) {
	e := verdict.Evidence{Command: verdict.Command{Name: "deepspeed", Rule: verdict.ExitScript}, Workers: 2, Opened: 2, Starters: []verdict.StarterEnd{
		{LaunchEnd: verdict.LaunchEnd{Name: "deepspeed"}, Bad: []verdict.BadSession{{Worker: "w-1", Code: 137, What: "was killed by SIGKILL"}}}}}
	a := &attempt{command: &command.Command{}, evidence: e, verdict: verdict.Judge(e), watcher: &supervise.Supervisor{}}
	require.Equal(t, retry.End{Code: 137, Why: "deepspeed exited with 0, but its session on worker w-1 was killed by SIGKILL"}, a.end())
	worker, rank := a.origin()
	require.Equal(t, []string{"w-1", ""}, []string{worker, rank})
}

// TestARunThatBrokeARule checks that a run that broke an output rule has its own exit code, and
// that the report names the rank that broke the rule.
func TestARunThatBrokeARule(t *testing.T) {
	rank := "rank 1"
	a := &attempt{watcher: &supervise.Supervisor{Findings: supervise.Findings{Hung: "train was stopped: failed line", Stalled: &rank}}}
	(&runner{}).noteHang(a)
	require.Equal(t, 79, a.verdict.Code)
	require.True(t, a.end().Stalled)
	require.Equal(t, "rank 1", a.record(true).Rank)
}

// TestLostOf checks which lost workers concern a group, also if a failed switch takes thousands of them.
func TestLostOf(t *testing.T) {
	const many = 20_000
	var planned plan.Plan
	var lost []verdict.Lost
	for i := range many {
		name := fmt.Sprintf("w-%05d", i)
		planned.Hosts, lost = append(planned.Hosts, plan.Host{Name: name}), append(lost, verdict.Lost{Worker: name})
		for range 8 {
			planned.Processes = append(planned.Processes, plan.Process{Worker: i})
		}
	}
	began := time.Now()
	require.Equal(t, lost, lostOf(append([]verdict.Lost{{Worker: "a spare"}}, lost...), planned))
	require.Less(t, time.Since(began), 5*time.Second)
	require.Empty(t, lostOf(nil, planned))
}
