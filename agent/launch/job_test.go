//go:build linux

package launch

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/wire"
)

// account is a tally of an MPI job with a session on each of three workers.
func account() *tally {
	t := newTally()
	for _, id := range []string{"0", "1", "2"} {
		t.called("w-"+id, id, nil)
		t.report("w-"+id, wire.ReportRecord{Session: id, Kind: wire.ReportRanks})
		t.report("w-"+id, wire.ReportRecord{Session: id, Kind: wire.ReportRanks, MPI: true})
	}
	return t
}

func rank(id string, code, signal int) wire.ReportRecord {
	return wire.ReportRecord{Session: id, Kind: wire.ReportRank, PID: 9, Command: "pi", Rank: id, MPI: true, Code: code, Signal: signal}
}

// TestJudgeJob: what PID 1 saw, and what the verdict makes of it.
func TestJudgeJob(t *testing.T) {
	killedDaemon := wire.ReportRecord{Session: "2", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 137, Signal: 9}
	late := wire.ReportRecord{Session: "2", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 139, Signal: 11, Finished: true}
	for name, tc := range map[string]struct {
		happens func(t *tally)
		code    int  // of the command
		ended   bool // by us
		want    int
		why     string
	}{
		"a daemon was killed, mpirun said 0": {func(t *tally) { t.report("w-2", killedDaemon) }, 0, false,
			137, "mpirun said 0, but worker w-2: its prted (pid 7) was killed by SIGKILL"},
		"a daemon was killed, mpirun noticed": {func(t *tally) {
			t.report("w-0", rank("0", 137, 9))
			t.report("w-2", killedDaemon)
		}, 205, false, 205, "worker w-2: its prted (pid 7) was killed by SIGKILL; mpirun exited with 205"},
		"a daemon is frozen": {func(t *tally) {
			t.report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportFrozen, PID: 7, Command: "orted", Millis: 30_000})
		}, 1, true, 76, "worker w-1: its orted (pid 7) has been stopped, as by SIGSTOP, for 30 s; mpirun did not end by itself"},
		"a rank exited, mpirun hung": {func(t *tally) {
			t.report("w-2", rank("2", 7, 0))
			t.report("w-0", rank("0", 143, 15))
		}, 255, true, 7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun did not end by itself"},
		"a victim alone was seen": {func(t *tally) {
			rec := rank("0", 143, 15)
			rec.MPI = false
			t.report("w-0", rec)
		}, 3, false, 3, "which rank ended first is not known; mpirun exited with 3"},
		"a rank left without MPI_Finalize": {func(t *tally) { t.report("w-0", rank("0", 143, 15)) },
			1, false, 1, "which rank ended first is not known; mpirun exited with 1"},
		"a rank called MPI_Abort(0)": {func(t *tally) { t.report("w-0", rank("0", 143, 15)) },
			0, false, 143, "mpirun said 0, but which rank ended first is not known"},
		"a rank called MPI_Abort(0), Hydra's proxies failed": {func(t *tally) {
			for _, id := range []string{"1", "0"} {
				t.ended(verdict.BadSession{Worker: "w-" + id, Code: 7, What: "exited with 7"})
				t.answered(id, wire.ExitRecord{Code: 7}, nil)
			}
		}, 0, false, 7, "mpirun said 0, but 2 of its sessions exited with 7, as after MPI_Abort: which rank ended first is not known"},
		"a rank called MPI_Abort(0), one of Hydra's proxies lost its connection": {func(t *tally) {
			t.report("w-1", rank("1", 137, 9))
			t.ended(verdict.BadSession{Worker: "w-1", Code: 7, What: "exited with 7"})
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
			t.ended(verdict.BadSession{Worker: "w-0", Code: 5, What: "exited with 5"})
			t.answered("0", wire.ExitRecord{Code: 5}, nil)
		}, 0, false, 7, "mpirun said 0, but 2 of its sessions failed, as after MPI_Abort: which rank ended first is not known"},
		"a rank crashed, then Hydra's proxy failed": {func(t *tally) {
			rec := rank("2", 139, 11)
			rec.MPI = false
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
			t.report("w-2", rec)
		}, 255, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 255"},
		"a rank crashed, Intel says 255": {func(t *tally) {
			t.report("w-2", rank("2", 139, 11))
			t.report("w-1", rank("1", 137, 9))
		}, 255, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 255"},
		"a victim was killed, another rank of its worker was not seen": {func(t *tally) {
			rec := rank("0", 137, 9)
			rec.Unseen = 1
			t.report("w-0", rec)
		}, 255, false, 255, "which rank ended first is not known; mpirun exited with 255"},
		"a victim was killed, a rank of another worker was not seen": {func(t *tally) {
			t.report("w-0", rank("0", 137, 9))
			t.answered("2", wire.ExitRecord{Unseen: 1}, nil)
		}, 255, false, 255, "which rank ended first is not known; mpirun exited with 255"},
		"a rank was not seen, then Hydra's proxy failed": {func(t *tally) { t.answered("1", wire.ExitRecord{Code: 7, Unseen: 1}, nil) },
			255, false, 255, "which rank ended first is not known (worker w-1: its session exited with 7); mpirun exited with 255"},
		"a rank was not seen, then mpiexec killed a proxy": {func(t *tally) {
			t.report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportDaemon, PID: 7, Command: "hydra_pmi_proxy", Code: 137, Signal: 9})
			t.answered("2", wire.ExitRecord{Unseen: 1}, nil)
		}, 3, false, 3, "which rank ended first is not known (worker w-1: its hydra_pmi_proxy (pid 7) was killed by SIGKILL); mpirun exited with 3"},
		"a helper of the daemon failed, a rank was not seen": {func(t *tally) {
			t.report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportRank, PID: 9, Code: 1, Unseen: 1})
		}, 3, false, 3, "which rank ended first is not known; mpirun exited with 3"},
		"a worker ran out of memory, a rank of it was not seen": {func(t *tally) {
			rec := rank("2", 137, 9)
			rec.Unseen = 1
			t.starve("w-2")
			t.report("w-2", rec)
		}, 137, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); mpirun exited with 137"},
		"a rank crashed, MPICH 4.2 says its signal": {func(t *tally) { t.report("w-2", rank("2", 139, 11)) },
			11, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 11"},
		"a rank was killed for its memory, Hydra says 255": {func(t *tally) {
			t.starve("w-2")
			t.report("w-2", rank("2", 137, 9))
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
			t.report("w-0", rank("0", 143, 15))
		}, 255, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 255"},
		"a rank was killed for its memory": {func(t *tally) {
			t.starve("w-2")
			t.report("w-0", rank("0", 137, 9))
			t.report("w-2", rank("2", 137, 9))
		}, 137, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 137"},
		"a victim's report came first": {func(t *tally) {
			for _, rec := range []wire.ReportRecord{rank("0", 143, 15), rank("2", 3, 0)} {
				rec.MPI = false
				t.report("w-"+rec.Rank, rec)
			}
		}, 3, false, 3, "worker w-2: rank 2, pi (pid 9), exited with 3; mpirun exited with 3"},
		"two ranks exited, the later one was heard of first": {func(t *tally) {
			first, second := rank("1", 3, 0), rank("2", 1, 0)
			first.MPI, second.MPI, first.AgoMillis = false, false, 50
			t.report("w-2", second)
			t.report("w-1", first)
		}, 1, false, 1, "worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 1"},
		"a rank exited, Intel says 255": {func(t *tally) { t.report("w-2", rank("2", 7, 0)) }, 255, false,
			7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun exited with 255"},
		"a rank exited, another aborted before its daemon told of it": {func(t *tally) {
			t.report("w-0", rank("0", 14, 0))
			t.report("w-2", rank("2", 7, 0))
		}, 14, false, 7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun exited with 14"},
		"a rank was killed, another aborted": {func(t *tally) {
			t.report("w-2", rank("2", 137, 9))
		}, 14, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 14"},
		"a rank aborted, another had been killed": {func(t *tally) {
			t.report("w-0", rank("0", 14, 0))
			t.report("w-1", rank("1", 143, 15))
			t.report("w-2", rank("2", 137, 9))
		}, 14, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 14"},
		"a rank means 14, another was ended": {func(t *tally) {
			t.report("w-1", rank("1", 143, 15))
			t.report("w-0", rank("0", 14, 0))
		}, 14, false, 14, "worker w-0: rank 0, pi (pid 9), exited with 14; mpirun exited with 14"},
		"a rank means 14": {func(t *tally) { t.report("w-2", rank("2", 14, 0)) }, 14, false,
			14, "worker w-2: rank 2, pi (pid 9), exited with 14; mpirun exited with 14"},
		"mpirun's code is a rank's": {func(t *tally) {
			t.report("w-1", rank("1", 3, 0))
			t.report("w-2", rank("2", 7, 0))
		}, 7, false, 7, "worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 7"},
		"a rank crashed": {func(t *tally) {
			t.report("w-0", rank("0", 137, 9))
			t.report("w-2", rank("2", 139, 11))
		}, 139, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 139"},
		"a rank was killed, then others and sessions": {func(t *tally) {
			t.report("w-2", rank("2", 137, 9))
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
			t.report("w-1", rank("1", 137, 9))
		}, 255, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 255"},
		"who was killed first is not known": {func(t *tally) {
			t.commandEnded()
			t.report("w-0", rank("0", 137, 9))
			t.report("w-2", rank("2", 137, 9))
		}, 255, false, 137, "which rank ended first is not known; mpirun exited with 255"},
		"of two signals one is mpirun's": {func(t *tally) {
			t.commandEnded()
			t.report("w-0", rank("0", 143, 15))
			t.report("w-2", rank("2", 137, 9))
		}, 255, false, 255, "which rank ended first is not known; mpirun exited with 255"},
		"a rank without MPI hurts nobody": {func(t *tally) {
			r := rank("2", 7, 0)
			r.MPI = false
			t.report("w-2", r)
		}, 0, false, 0, ""},
		"a session failed before mpirun did": {func(t *tally) {
			t.answered("1", wire.ExitRecord{Code: 1}, nil)
			t.report("w-0", rank("0", 137, 9))
		}, 255, false, 1, "worker w-1: its session exited with 1; mpirun exited with 255"},
		"a session failed after mpirun did": {func(t *tally) {
			t.commandEnded()
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 255, false, 255, "mpirun exited with 255"},
		"a session failed, mpirun said 0": {func(t *tally) {
			t.commandEnded()
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 7, "mpirun said 0, but worker w-1: its session exited with 7"},
		"agents were killed, mpirun said 0": {func(t *tally) {
			t.left("2")
			t.left("0")
			for _, id := range []string{"0", "1", "2"} {
				t.answered(id, wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
			}
		}, 0, false, 76, "mpirun said 0, but its session on worker w-2 was cut off: the agent that it had called ended first"},
		"agents were killed, mpirun noticed": {func(t *tally) {
			t.left("2")
			t.left("0")
			for _, id := range []string{"0", "2"} {
				t.answered(id, wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
			}
		}, 9, false, 9, "the first session to be cut off, when its agent ended, was that on worker w-2; mpirun exited with 9"},
		"an agent was killed, then a session failed": {func(t *tally) {
			t.left("2")
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
			t.answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 255, "the first session to be cut off, when its agent ended, was that on worker w-2; mpirun exited with 255"},
		"a session failed, then agents were killed": {func(t *tally) {
			t.answered("1", wire.ExitRecord{Code: 1}, nil)
			t.left("2")
			t.answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 1, "worker w-1: its session exited with 1; mpirun exited with 255"},
		"Hydra's proxy failed": {func(t *tally) { t.answered("1", wire.ExitRecord{Code: 7}, nil) },
			255, false, 255, "worker w-1: its session exited with 7; mpirun exited with 255"},
		"hosts may finish early": {func(t *tally) { t.answered("1", wire.ExitRecord{}, nil) }, 0, false, 0, ""},
		"an unknown host, and a worker's session that was cut off": {func(t *tally) {
			t.refused(nil, &broker.UnknownHostError{Host: "x", Known: []string{"w-0"}})
			t.left("0")
			t.answered("0", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 255, `unknown host "x": the 1 known are w-0; mpirun exited with 255`},
		"an unknown host, mpirun hung": {func(t *tally) {
			t.refused(nil, &broker.UnknownHostError{Host: "x", Known: []string{"w-0"}})
			t.report("w-0", rank("0", 143, 15))
		}, 1, true, 255, `unknown host "x": the 1 known are w-0; mpirun did not end by itself`},
		"an ambiguous host, mpirun said 0": {func(t *tally) { t.refused(nil, errors.New(`host "x" is more than one worker`)) },
			0, false, 255, `mpirun said 0, but host "x" is more than one worker`},
		"a daemon crashed when its ranks had ended": {func(t *tally) {
			t.report("w-2", late)
			t.answered("2", wire.ExitRecord{Code: 139, Signal: 11}, nil)
		}, 0, false, 0, ""},
		"a daemon crashed late, and left its agent": {func(t *tally) {
			t.report("w-2", late)
			t.left("2")
			t.answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 0, false, 0, ""},
		"a daemon crashed late, another rank was ended": {func(t *tally) {
			t.report("w-2", late)
			r := rank("1", 143, 15)
			r.MPI = false
			t.report("w-1", r)
		}, 0, false, 139, "mpirun said 0, but worker w-2: its prted (pid 7) was killed by SIGSEGV when its ranks had ended with 0"},
		"a daemon crashed late, another one sooner": {func(t *tally) {
			t.report("w-2", late)
			sooner := killedDaemon
			sooner.Session = "1"
			t.report("w-1", sooner)
		}, 0, false, 137, "mpirun said 0, but worker w-1: its prted (pid 7) was killed by SIGKILL"},
		"a daemon crashed late, another session failed": {func(t *tally) {
			t.report("w-2", late)
			t.answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 7, "mpirun said 0, but worker w-1: its session exited with 7"},
		"a daemon crashed late, mpirun complained": {func(t *tally) { t.report("w-2", late) }, 205, false,
			205, "worker w-2: its prted (pid 7) was killed by SIGSEGV when its ranks had ended with 0; mpirun exited with 205"},
		"of a session by hand nothing counts": {func(t *tally) {
			t.report("w-2", rank("by hand", 7, 0))
			t.answered("by hand", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			account := account()
			tc.happens(account)
			account.conclude(tc.code != 0)
			e := verdict.Evidence{Command: verdict.Command{Name: "mpirun", Rule: verdict.ExitStrict, Code: tc.code}, Workers: 3, Ended: tc.ended}
			account.testify(&e)
			e.Opened = 3
			require.Equal(t, verdict.Verdict{Code: tc.want, Why: tc.why}, verdict.Judge(e))
			e.Rule = verdict.ExitCommand
			require.Equal(t, tc.code, verdict.Judge(e).Code, "--exit=command takes the command's word")
		})
	}
}

func TestEndingOnTrouble(t *testing.T) {
	var e ending
	require.True(t, e.onTrouble(troublePatience, 10*time.Second))
	require.False(t, e.onTrouble(troublePatience, 10*time.Second), "once")
	require.Equal(t, troublePatience, e.wait())
	require.True(t, e.onLost(10*time.Second), "a lost worker ends it sooner")
	require.Equal(t, lostPatience, e.wait())
	e = ending{}
	_, _ = e.onSignal(15, time.Second, time.Now())
	require.False(t, e.onTrouble(troublePatience, time.Second), "told to stop already")
}
