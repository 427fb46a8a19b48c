package tally

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// A session that ended well and never had a rank had no daemon. This is certain if the ranks of the
// others use MPI, and thus wait, or if there are none.
func TestNoDaemon(t *testing.T) {
	for name, tc := range map[string]struct {
		others wire.ReportRecord
		want   bool
	}{
		"no rank anywhere":         {wire.ReportRecord{}, true},
		"MPI ranks elsewhere":      {wire.ReportRecord{Session: "0", Kind: wire.ReportRanks, MPI: true}, true},
		"ranks without MPI":        {wire.ReportRecord{Session: "0", Kind: wire.ReportRanks}, false},
		"it had one itself":        {wire.ReportRecord{Session: "1", Kind: wire.ReportRanks, MPI: true}, false},
		"a rank of a hand's call":  {wire.ReportRecord{Session: "x", Kind: wire.ReportRanks}, true},
		"a kind that is not known": {wire.ReportRecord{Session: "0", Kind: "later"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			account, now := New(), time.Unix(0, 0)
			account.now = func() time.Time { return now }
			account.Called("w-0", "0", nil)
			account.Called("w-1", "1", nil)
			account.Report("w-0", tc.others)
			account.Answered("1", wire.ExitRecord{}, nil)
			account.Stalled()
			_, known := account.Trouble()
			require.False(t, known, "too early")
			now = now.Add(stallTime + 1)
			account.Stalled()
			trouble, known := account.Trouble()
			require.Equal(t, tc.want, known)
			if known {
				require.Equal(t, "w-1", trouble.Worker)
				require.True(t, trouble.Silent)
			}
		})
	}
}

// A rank that failed at once may have been too short to be seen. Its session, which ends with the
// command, had a daemon.
func TestShortRanksHadADaemon(t *testing.T) {
	for name, tc := range map[string]struct {
		before time.Duration
		want   bool
	}{"with the command": {time.Second, false}, "long before it": {daemonLag + time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			account, now := New(), time.Unix(0, 0)
			account.now = func() time.Time { return now }
			account.Called("w-1", "1", nil)
			account.Answered("1", wire.ExitRecord{}, nil)
			now = now.Add(tc.before)
			account.Conclude(true)
			_, known := account.Trouble()
			require.Equal(t, tc.want, known)
		})
	}
}

// If mpiexec gives up at once, the message names a session that ended before it without a rank, but
// does not blame it.
func TestSessionWithoutARankIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*Tally)
		code    int
		why     string
	}{
		"before mpiexec": {func(a *Tally) { a.Answered("1", wire.ExitRecord{}, nil) }, verdict.HydraGaveUp,
			"worker w-1: its session ended with 0 before mpiexec did, and no rank was seen there; mpiexec exited with 255"},
		"two of them, another proxy gave up first": {func(a *Tally) {
			a.Answered("0", wire.ExitRecord{Code: 7}, nil)
			a.Answered("2", wire.ExitRecord{}, nil)
			a.Answered("1", wire.ExitRecord{}, nil)
		}, verdict.HydraGaveUp, "worker w-2 (and 1 more worker): its session ended with 0 before mpiexec did, and no rank was seen there; mpiexec exited with 255"},
		"after mpiexec":          {func(a *Tally) { a.CommandEnded(); a.Answered("1", wire.ExitRecord{}, nil) }, verdict.HydraGaveUp, "mpiexec exited with 255"},
		"a rank that nobody saw": {func(a *Tally) { a.Answered("1", wire.ExitRecord{Unseen: 1}, nil) }, verdict.HydraGaveUp, "mpiexec exited with 255"},
		"mpiexec tells a code":   {func(a *Tally) { a.Answered("1", wire.ExitRecord{}, nil) }, 3, "mpiexec exited with 3"},
		"a rank failed": {func(a *Tally) {
			a.Answered("1", wire.ExitRecord{}, nil)
			a.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRank, PID: 9, Command: "pi", Rank: "0", MPI: true, Code: 3})
		}, verdict.HydraGaveUp, "worker w-0: rank 0, pi (pid 9), exited with 3; mpiexec exited with 255"},
		"a session failed, its mpiexec killed a proxy": {func(a *Tally) {
			a.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportDaemon, PID: 7, Command: "hydra_pmi_proxy", Code: 137, Signal: 9})
			a.Answered("1", wire.ExitRecord{Code: 1}, nil)
		}, verdict.HydraGaveUp, "worker w-1: its session exited with 1; mpiexec exited with 255"},
	} {
		t.Run(name, func(t *testing.T) {
			account, now := New(), time.Unix(0, 0)
			account.now = func() time.Time { now = now.Add(time.Millisecond); return now }
			for _, id := range []string{"0", "1", "2"} {
				account.Called("w-"+id, id, nil)
			}
			tc.happens(account)
			account.Conclude(true)
			e := verdict.Evidence{Command: verdict.Command{Name: "mpiexec", Rule: verdict.ExitStrict, Code: tc.code}, Workers: 3}
			account.Testify(&e)
			require.Equal(t, tc.why, verdict.Judge(e).Why)
		})
	}
}

// A script continues after its mpirun. A session without a seen rank is a stall only while its
// mpirun runs.
func TestNoDaemonBehindAScript(t *testing.T) {
	for name, tc := range map[string]struct {
		ends time.Duration // of the mpirun, after its session; 0: it does not end
		want bool
	}{
		"mpirun ends with the session":    {time.Second, false},
		"mpirun ends long after it":       {stallTime + 2*time.Second, true},
		"mpirun has not ended at the end": {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			account, now, proc := New(), time.Unix(0, 0), &Scripted{}
			account.now = func() time.Time { return now }
			account.Called("w-1", "1", proc)
			account.Answered("1", wire.ExitRecord{}, nil)
			for passed := time.Duration(0); passed <= time.Minute; passed += time.Second {
				proc.Over = tc.ends > 0 && passed >= tc.ends
				account.Stalled()
				now = now.Add(time.Second)
			}
			account.Conclude(true)
			_, known := account.Trouble()
			require.Equal(t, tc.want, known)
		})
	}
}

// While the others cannot be heard, it is unknown what their ranks are.
func TestNoDaemonIsNotSaidOfTheUnheard(t *testing.T) {
	account, now := New(), time.Unix(0, 0)
	account.now = func() time.Time { return now }
	account.Link("w-0", true, false)
	account.Called("w-0", "0", nil)
	account.Called("w-1", "1", nil)
	account.Answered("1", wire.ExitRecord{}, nil)
	account.Link("w-0", false, false)
	unknown := func(why string) {
		account.Stalled()
		_, known := account.Trouble()
		require.False(t, known, why)
	}
	now = now.Add(2 * stallTime)
	unknown("the link is down")
	account.Link("w-0", true, false)
	unknown("it has just come back")
	account.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks})
	now = now.Add(stallTime)
	unknown("its ranks do not use MPI")

	account.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks, MPI: true})
	account.Link("w-0", false, false)
	now = now.Add(time.Minute)
	unknown("down again")
	account.Answered("0", wire.ExitRecord{}, nil)
	account.Stalled()
	_, known := account.Trouble()
	require.True(t, known, "nothing runs there any more")
}

// Some MPIs ask a host for its shell before they start the daemon there.
func TestProbeIsNoDaemon(t *testing.T) {
	account, now := account(), time.Unix(0, 0)
	account.now = func() time.Time { return now }
	account.Called("w-1", "probe", nil)
	account.Answered("probe", wire.ExitRecord{}, nil)
	now = now.Add(time.Hour)
	account.Stalled()
	_, known := account.Trouble()
	require.False(t, known)
}
