package tally

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/verdict"
	"github.com/musterhq/muster/exec/wire"
)

// TestNoDaemon checks that a session that succeeded and never had a rank had no daemon. This is
// certain if the ranks of the other sessions use MPI, and thus wait, or if there are no ranks.
func TestNoDaemon(t *testing.T) {
	for name, tc := range map[string]struct {
		others wire.ReportRecord
		want   bool
	}{
		"no rank anywhere":            {wire.ReportRecord{}, true},
		"MPI ranks elsewhere":         {wire.ReportRecord{Session: "0", Kind: wire.ReportRanks, MPI: true}, true},
		"ranks without MPI":           {wire.ReportRecord{Session: "0", Kind: wire.ReportRanks}, false},
		"the session had a rank":      {wire.ReportRecord{Session: "1", Kind: wire.ReportRanks, MPI: true}, false},
		"a rank of a session by hand": {wire.ReportRecord{Session: "x", Kind: wire.ReportRanks}, true},
		"an unknown kind of report":   {wire.ReportRecord{Session: "0", Kind: "later"}, true},
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
			require.False(t, known, "too early to report")
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

// TestShortRanksHadADaemon checks that a session that ends with the command is assumed to have had
// a daemon. A rank that failed at once may have been too short to be seen.
func TestShortRanksHadADaemon(t *testing.T) {
	for name, tc := range map[string]struct {
		before time.Duration
		want   bool
	}{"shortly before the command": {time.Second, false}, "long before the command": {daemonLag + time.Second, true}} {
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

// TestSessionWithoutARankIsNamed checks that if mpiexec gives up at once, the message names a
// session that ended before mpiexec without a rank, but does not blame it.
func TestSessionWithoutARankIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(*Tally)
		code    int
		why     string
	}{
		"before mpiexec": {func(a *Tally) { a.Answered("1", wire.ExitRecord{}, nil) }, verdict.HydraGaveUp,
			"worker w-1: its session ended with 0 before mpiexec did, and no rank was seen there; mpiexec exited with 255"},
		"two before mpiexec, another proxy gave up first": {func(a *Tally) {
			a.Answered("0", wire.ExitRecord{Code: 7}, nil)
			a.Answered("2", wire.ExitRecord{}, nil)
			a.Answered("1", wire.ExitRecord{}, nil)
		}, verdict.HydraGaveUp, "worker w-2 (and 1 more worker): its session ended with 0 before mpiexec did, and no rank was seen there; mpiexec exited with 255"},
		"after mpiexec":              {func(a *Tally) { a.CommandEnded(); a.Answered("1", wire.ExitRecord{}, nil) }, verdict.HydraGaveUp, "mpiexec exited with 255"},
		"a rank that was not seen":   {func(a *Tally) { a.Answered("1", wire.ExitRecord{Unseen: 1}, nil) }, verdict.HydraGaveUp, "mpiexec exited with 255"},
		"mpiexec exited with a code": {func(a *Tally) { a.Answered("1", wire.ExitRecord{}, nil) }, 3, "mpiexec exited with 3"},
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

// TestNoDaemonBehindAScript checks that a session without a seen rank is a stall only while its
// mpirun runs, because a script continues after its mpirun.
func TestNoDaemonBehindAScript(t *testing.T) {
	for name, tc := range map[string]struct {
		ends time.Duration // when mpirun ends, after its session; 0 means it does not end
		want bool
	}{
		"mpirun ends with the session":       {time.Second, false},
		"mpirun ends long after the session": {stallTime + 2*time.Second, true},
		"mpirun has not ended at the end":    {0, true},
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

// TestNoDaemonIsUnknownWhileALinkIsDown checks that nothing is reported while the link of another
// worker is down, because it is unknown whether the ranks there use MPI.
func TestNoDaemonIsUnknownWhileALinkIsDown(t *testing.T) {
	account, now := New(), time.Unix(0, 0)
	account.now = func() time.Time { return now }
	account.Link("w-0", true)
	account.Called("w-0", "0", nil)
	account.Called("w-1", "1", nil)
	account.Answered("1", wire.ExitRecord{}, nil)
	account.Link("w-0", false)
	unknown := func(why string) {
		account.Stalled()
		_, known := account.Trouble()
		require.False(t, known, why)
	}
	now = now.Add(2 * stallTime)
	unknown("the link is down")
	account.Link("w-0", true)
	unknown("the link has just come back")
	account.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks})
	now = now.Add(stallTime)
	unknown("the ranks there do not use MPI")

	account.Report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks, MPI: true})
	account.Link("w-0", false)
	now = now.Add(time.Minute)
	unknown("the link is down again")
	account.Answered("0", wire.ExitRecord{}, nil)
	account.Stalled()
	_, known := account.Trouble()
	require.True(t, known, "nothing runs on the other worker anymore")
}

// TestProbeIsNoDaemon checks that a session that only queries a host is not mistaken for a failed
// daemon. Some MPIs ask a host for its shell before they start the daemon there.
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
