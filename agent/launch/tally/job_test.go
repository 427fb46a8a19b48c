package tally

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/broker"
	"github.com/musterhq/muster/exec/wire"
)

// account returns a tally of an MPI job with a session on each of three workers.
func account() *Tally {
	t := New()
	for _, id := range []string{"0", "1", "2"} {
		t.Called("w-"+id, id, nil)
		t.Report("w-"+id, wire.ReportRecord{Session: id, Kind: wire.ReportRanks})
		t.Report("w-"+id, wire.ReportRecord{Session: id, Kind: wire.ReportRanks, MPI: true})
	}
	return t
}

func rank(id string, code, signal int) wire.ReportRecord {
	return wire.ReportRecord{Session: id, Kind: wire.ReportRank, PID: 9, Command: "pi", Rank: id, MPI: true, Code: code, Signal: signal}
}

// TestJudgeJob checks the verdict for what PID 1 reports.
func TestJudgeJob(t *testing.T) {
	killedDaemon := wire.ReportRecord{Session: "2", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 137, Signal: 9}
	late := wire.ReportRecord{Session: "2", Kind: wire.ReportDaemon, PID: 7, Command: "prted", Code: 139, Signal: 11, Finished: true}
	for name, tc := range map[string]struct {
		happens func(t *Tally)
		code    int  // of the command
		ended   bool // by Muster
		want    int
		why     string
	}{
		"a daemon was killed, mpirun exited with 0": {func(t *Tally) { t.Report("w-2", killedDaemon) }, 0, false,
			137, "mpirun exited with 0, but worker w-2: its prted (pid 7) was killed by SIGKILL"},
		"a daemon was killed, mpirun noticed": {func(t *Tally) {
			t.Report("w-0", rank("0", 137, 9))
			t.Report("w-2", killedDaemon)
		}, 205, false, 205, "worker w-2: its prted (pid 7) was killed by SIGKILL; mpirun exited with 205"},
		"a daemon is frozen": {func(t *Tally) {
			t.Report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportFrozen, PID: 7, Command: "orted", Millis: 30_000})
		}, 1, true, 76, "worker w-1: its orted (pid 7) has been stopped, as by SIGSTOP, for 30 s; mpirun did not end by itself"},
		"a rank exited, mpirun hung": {func(t *Tally) {
			t.Report("w-2", rank("2", 7, 0))
			t.Report("w-0", rank("0", 143, 15))
		}, 255, true, 7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun did not end by itself"},
		"only a victim was seen": {func(t *Tally) {
			rec := rank("0", 143, 15)
			rec.MPI = false
			t.Report("w-0", rec)
		}, 3, false, 3, "which rank ended first is unknown; mpirun exited with 3"},
		"a rank left without MPI_Finalize": {func(t *Tally) { t.Report("w-0", rank("0", 143, 15)) },
			1, false, 1, "which rank ended first is unknown; mpirun exited with 1"},
		"a rank called MPI_Abort(0)": {func(t *Tally) { t.Report("w-0", rank("0", 143, 15)) },
			0, false, 143, "mpirun exited with 0, but which rank ended first is unknown"},
		"a rank called MPI_Abort(0), Hydra's proxies failed": {func(t *Tally) {
			for _, id := range []string{"1", "0"} {
				t.Ended(verdict.BadSession{Worker: "w-" + id, Code: 7, What: "exited with 7"})
				t.Answered(id, wire.ExitRecord{Code: 7}, nil)
			}
		}, 0, false, 7, "mpirun exited with 0, but 2 of its sessions exited with 7, as after MPI_Abort: which rank ended first is unknown"},
		"a rank called MPI_Abort(0), one of Hydra's proxies lost its connection": {func(t *Tally) {
			t.Report("w-1", rank("1", 137, 9))
			t.Ended(verdict.BadSession{Worker: "w-1", Code: 7, What: "exited with 7"})
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
			t.Ended(verdict.BadSession{Worker: "w-0", Code: 5, What: "exited with 5"})
			t.Answered("0", wire.ExitRecord{Code: 5}, nil)
		}, 0, false, 7, "mpirun exited with 0, but 2 of its sessions failed, as after MPI_Abort: which rank ended first is unknown"},
		"a rank crashed, then Hydra's proxy failed": {func(t *Tally) {
			rec := rank("2", 139, 11)
			rec.MPI = false
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
			t.Report("w-2", rec)
		}, 255, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 255"},
		"a rank crashed, Intel MPI exited with 255": {func(t *Tally) {
			t.Report("w-2", rank("2", 139, 11))
			t.Report("w-1", rank("1", 137, 9))
		}, 255, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 255"},
		"a victim was killed, another rank of its worker was not seen": {func(t *Tally) {
			rec := rank("0", 137, 9)
			rec.Unseen = 1
			t.Report("w-0", rec)
		}, 255, false, 255, "which rank ended first is unknown; mpirun exited with 255"},
		"a victim was killed, a rank of another worker was not seen": {func(t *Tally) {
			t.Report("w-0", rank("0", 137, 9))
			t.Answered("2", wire.ExitRecord{Unseen: 1}, nil)
		}, 255, false, 255, "which rank ended first is unknown; mpirun exited with 255"},
		"a rank was not seen, then Hydra's proxy failed": {func(t *Tally) { t.Answered("1", wire.ExitRecord{Code: 7, Unseen: 1}, nil) },
			255, false, 255, "which rank ended first is unknown (worker w-1: its session exited with 7); mpirun exited with 255"},
		"a rank was not seen, then mpiexec killed a proxy": {func(t *Tally) {
			t.Report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportDaemon, PID: 7, Command: "hydra_pmi_proxy", Code: 137, Signal: 9})
			t.Answered("2", wire.ExitRecord{Unseen: 1}, nil)
		}, 3, false, 3, "which rank ended first is unknown (worker w-1: its hydra_pmi_proxy (pid 7) was killed by SIGKILL); mpirun exited with 3"},
		"a helper of the daemon failed, a rank was not seen": {func(t *Tally) {
			t.Report("w-1", wire.ReportRecord{Session: "1", Kind: wire.ReportRank, PID: 9, Code: 1, Unseen: 1})
		}, 3, false, 3, "which rank ended first is unknown; mpirun exited with 3"},
		"a worker ran out of memory, a rank of it was not seen": {func(t *Tally) {
			rec := rank("2", 137, 9)
			rec.Unseen = 1
			t.Starve("w-2")
			t.Report("w-2", rec)
		}, 137, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); mpirun exited with 137"},
		"a rank crashed, MPICH 4.2 exited with its signal": {func(t *Tally) { t.Report("w-2", rank("2", 139, 11)) },
			11, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 11"},
		"a rank was killed for its memory, Hydra exited with 255": {func(t *Tally) {
			t.Starve("w-2")
			t.Report("w-2", rank("2", 137, 9))
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
			t.Report("w-0", rank("0", 143, 15))
		}, 255, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 255"},
		"a rank was killed for its memory": {func(t *Tally) {
			t.Starve("w-2")
			t.Report("w-0", rank("0", 137, 9))
			t.Report("w-2", rank("2", 137, 9))
		}, 137, false, 137, "worker w-2 ran out of memory: the kernel killed a process there (OOM); worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 137"},
		"a victim's report came first": {func(t *Tally) {
			for _, rec := range []wire.ReportRecord{rank("0", 143, 15), rank("2", 3, 0)} {
				rec.MPI = false
				t.Report("w-"+rec.Rank, rec)
			}
		}, 3, false, 3, "worker w-2: rank 2, pi (pid 9), exited with 3; mpirun exited with 3"},
		"two ranks exited, the later end was reported first": {func(t *Tally) {
			first, second := rank("1", 3, 0), rank("2", 1, 0)
			first.MPI, second.MPI, first.AgoMillis = false, false, 50
			t.Report("w-2", second)
			t.Report("w-1", first)
		}, 1, false, 1, "worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 1"},
		"a rank exited, Intel MPI exited with 255": {func(t *Tally) { t.Report("w-2", rank("2", 7, 0)) }, 255, false,
			7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun exited with 255"},
		"a rank exited, another aborted before the daemon reported it": {func(t *Tally) {
			t.Report("w-0", rank("0", 14, 0))
			t.Report("w-2", rank("2", 7, 0))
		}, 14, false, 7, "worker w-2: rank 2, pi (pid 9), exited with 7; mpirun exited with 14"},
		"a rank was killed, another aborted": {func(t *Tally) {
			t.Report("w-2", rank("2", 137, 9))
		}, 14, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 14"},
		"a rank aborted, another had been killed": {func(t *Tally) {
			t.Report("w-0", rank("0", 14, 0))
			t.Report("w-1", rank("1", 143, 15))
			t.Report("w-2", rank("2", 137, 9))
		}, 14, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 14"},
		"a rank exited with 14, another was ended": {func(t *Tally) {
			t.Report("w-1", rank("1", 143, 15))
			t.Report("w-0", rank("0", 14, 0))
		}, 14, false, 14, "worker w-0: rank 0, pi (pid 9), exited with 14; mpirun exited with 14"},
		"a rank exited with 14": {func(t *Tally) { t.Report("w-2", rank("2", 14, 0)) }, 14, false,
			14, "worker w-2: rank 2, pi (pid 9), exited with 14; mpirun exited with 14"},
		"mpirun's code is that of another rank": {func(t *Tally) {
			t.Report("w-1", rank("1", 3, 0))
			t.Report("w-2", rank("2", 7, 0))
		}, 7, false, 7, "worker w-1: rank 1, pi (pid 9), exited with 3; mpirun exited with 7"},
		"a rank crashed": {func(t *Tally) {
			t.Report("w-0", rank("0", 137, 9))
			t.Report("w-2", rank("2", 139, 11))
		}, 139, false, 139, "worker w-2: rank 2, pi (pid 9), was killed by SIGSEGV; mpirun exited with 139"},
		"a rank was killed, then others and sessions": {func(t *Tally) {
			t.Report("w-2", rank("2", 137, 9))
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
			t.Report("w-1", rank("1", 137, 9))
		}, 255, false, 137, "worker w-2: rank 2, pi (pid 9), was killed by SIGKILL; mpirun exited with 255"},
		"the first killed rank is unknown": {func(t *Tally) {
			t.CommandEnded()
			t.Report("w-0", rank("0", 137, 9))
			t.Report("w-2", rank("2", 137, 9))
		}, 255, false, 137, "which rank ended first is unknown; mpirun exited with 255"},
		"one of two signals is from mpirun": {func(t *Tally) {
			t.CommandEnded()
			t.Report("w-0", rank("0", 143, 15))
			t.Report("w-2", rank("2", 137, 9))
		}, 255, false, 255, "which rank ended first is unknown; mpirun exited with 255"},
		"a failed rank without MPI does not count": {func(t *Tally) {
			r := rank("2", 7, 0)
			r.MPI = false
			t.Report("w-2", r)
		}, 0, false, 0, ""},
		"a session failed before mpirun did": {func(t *Tally) {
			t.Answered("1", wire.ExitRecord{Code: 1}, nil)
			t.Report("w-0", rank("0", 137, 9))
		}, 255, false, 1, "worker w-1: its session exited with 1; mpirun exited with 255"},
		"a session failed after mpirun did": {func(t *Tally) {
			t.CommandEnded()
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 255, false, 255, "mpirun exited with 255"},
		"a session failed, mpirun exited with 0": {func(t *Tally) {
			t.CommandEnded()
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 7, "mpirun exited with 0, but worker w-1: its session exited with 7"},
		"agents were killed, mpirun exited with 0": {func(t *Tally) {
			t.Left("2")
			t.Left("0")
			for _, id := range []string{"0", "1", "2"} {
				t.Answered(id, wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
			}
		}, 0, false, 76, "mpirun exited with 0, but its sessions on workers w-2, w-0 were cut off: the agents that it had called ended first"},
		"agents were killed, mpirun noticed": {func(t *Tally) {
			t.Left("2")
			t.Left("0")
			for _, id := range []string{"0", "2"} {
				t.Answered(id, wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
			}
		}, 9, false, 9, "the sessions on workers w-2, w-0 were cut off first, when their agents ended; mpirun exited with 9"},
		"an agent was killed, then a session failed": {func(t *Tally) {
			t.Left("2")
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
			t.Answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 255, "the session on worker w-2 was cut off first, when its agent ended; mpirun exited with 255"},
		"a session failed, then agents were killed": {func(t *Tally) {
			t.Answered("1", wire.ExitRecord{Code: 1}, nil)
			t.Left("2")
			t.Answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 1, "worker w-1: its session exited with 1; mpirun exited with 255"},
		"Hydra's proxy failed": {func(t *Tally) { t.Answered("1", wire.ExitRecord{Code: 7}, nil) },
			255, false, 255, "worker w-1: its session exited with 7; mpirun exited with 255"},
		"hosts may finish early": {func(t *Tally) { t.Answered("1", wire.ExitRecord{}, nil) }, 0, false, 0, ""},
		"an unknown host, and a worker's session that was cut off": {func(t *Tally) {
			t.Refused(nil, &broker.UnknownHostError{Host: "x", Known: []string{"w-0"}})
			t.Left("0")
			t.Answered("0", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 255, false, 255, `unknown host "x": the workers are w-0; mpirun exited with 255`},
		"an unknown host, mpirun hung": {func(t *Tally) {
			t.Refused(nil, &broker.UnknownHostError{Host: "x", Known: []string{"w-0"}})
			t.Report("w-0", rank("0", 143, 15))
		}, 1, true, 255, `unknown host "x": the workers are w-0; mpirun did not end by itself`},
		"an ambiguous host, mpirun exited with 0": {func(t *Tally) { t.Refused(nil, errors.New(`host "x" stands for several workers`)) },
			0, false, 255, `mpirun exited with 0, but host "x" stands for several workers`},
		"a daemon crashed when its ranks had ended": {func(t *Tally) {
			t.Report("w-2", late)
			t.Answered("2", wire.ExitRecord{Code: 139, Signal: 11}, nil)
		}, 0, false, 0, ""},
		"a daemon crashed late, and left its agent": {func(t *Tally) {
			t.Report("w-2", late)
			t.Left("2")
			t.Answered("2", wire.ExitRecord{Code: 143, Signal: 15, Reason: wire.ReasonStopped}, nil)
		}, 0, false, 0, ""},
		"a daemon crashed late, another rank was ended": {func(t *Tally) {
			t.Report("w-2", late)
			r := rank("1", 143, 15)
			r.MPI = false
			t.Report("w-1", r)
		}, 0, false, 139, "mpirun exited with 0, but worker w-2: its prted (pid 7) was killed by SIGSEGV when its ranks had ended with 0"},
		"a daemon crashed late, another daemon sooner": {func(t *Tally) {
			t.Report("w-2", late)
			sooner := killedDaemon
			sooner.Session = "1"
			t.Report("w-1", sooner)
		}, 0, false, 137, "mpirun exited with 0, but worker w-1: its prted (pid 7) was killed by SIGKILL"},
		"a daemon crashed late, another session failed": {func(t *Tally) {
			t.Report("w-2", late)
			t.Answered("1", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 7, "mpirun exited with 0, but worker w-1: its session exited with 7"},
		"a daemon crashed late, mpirun complained": {func(t *Tally) { t.Report("w-2", late) }, 205, false,
			205, "worker w-2: its prted (pid 7) was killed by SIGSEGV when its ranks had ended with 0; mpirun exited with 205"},
		"a session by hand does not count": {func(t *Tally) {
			t.Report("w-2", rank("by hand", 7, 0))
			t.Answered("by hand", wire.ExitRecord{Code: 7}, nil)
		}, 0, false, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			account := account()
			tc.happens(account)
			account.Conclude(tc.code != 0)
			e := verdict.Evidence{Command: verdict.Command{Name: "mpirun", Rule: verdict.ExitStrict, Code: tc.code}, Workers: 3, Ended: tc.ended}
			account.Testify(&e)
			e.Opened = 3
			require.Equal(t, verdict.Verdict{Code: tc.want, Why: tc.why}, verdict.Judge(e))
			e.Rule = verdict.ExitCommand
			require.Equal(t, tc.code, verdict.Judge(e).Code, "--exit=command uses the command's exit code")
		})
	}
}
