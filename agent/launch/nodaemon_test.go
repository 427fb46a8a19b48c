//go:build linux

package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// A session that ended well and never had a rank had no daemon: known when the
// others' ranks use MPI, and wait, or when there are none.
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
			account, now := newTally(), time.Unix(0, 0)
			account.now = func() time.Time { return now }
			account.called("w-0", "0", nil)
			account.called("w-1", "1", nil)
			account.report("w-0", tc.others)
			account.answered("1", wire.ExitRecord{}, nil)
			account.stalled()
			_, known := account.trouble()
			require.False(t, known, "too early")
			now = now.Add(stallTime + 1)
			account.stalled()
			trouble, known := account.trouble()
			require.Equal(t, tc.want, known)
			if known {
				require.Equal(t, "w-1", trouble.Worker)
				require.True(t, trouble.silent)
			}
		})
	}
}

// A rank that failed at once may have been too short to be seen: its session, which ends
// with the command, had a daemon.
func TestShortRanksHadADaemon(t *testing.T) {
	for name, tc := range map[string]struct {
		before time.Duration
		want   bool
	}{"with the command": {time.Second, false}, "long before it": {daemonLag + time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			account, now := newTally(), time.Unix(0, 0)
			account.now = func() time.Time { return now }
			account.called("w-1", "1", nil)
			account.answered("1", wire.ExitRecord{}, nil)
			now = now.Add(tc.before)
			account.conclude(true)
			_, known := account.trouble()
			require.Equal(t, tc.want, known)
		})
	}
}

// A script goes on after its mpirun: a session without a rank that was seen is a stall
// only as long as its mpirun runs.
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
			account, now, proc := newTally(), time.Unix(0, 0), &scripted{}
			account.now = func() time.Time { return now }
			account.called("w-1", "1", proc)
			account.answered("1", wire.ExitRecord{}, nil)
			for passed := time.Duration(0); passed <= time.Minute; passed += time.Second {
				proc.over = tc.ends > 0 && passed >= tc.ends
				account.stalled()
				now = now.Add(time.Second)
			}
			account.conclude(true)
			_, known := account.trouble()
			require.Equal(t, tc.want, known)
		})
	}
}

// While the others cannot be heard nobody knows what their ranks are.
func TestNoDaemonIsNotSaidOfTheUnheard(t *testing.T) {
	account, now := newTally(), time.Unix(0, 0)
	account.now = func() time.Time { return now }
	account.link("w-0", true, false)
	account.called("w-0", "0", nil)
	account.called("w-1", "1", nil)
	account.answered("1", wire.ExitRecord{}, nil)
	account.link("w-0", false, false)
	unknown := func(why string) {
		account.stalled()
		_, known := account.trouble()
		require.False(t, known, why)
	}
	now = now.Add(2 * stallTime)
	unknown("the link is down")
	account.link("w-0", true, false)
	unknown("it has just come back")
	account.report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks})
	now = now.Add(stallTime)
	unknown("its ranks do not use MPI")

	account.report("w-0", wire.ReportRecord{Session: "0", Kind: wire.ReportRanks, MPI: true})
	account.link("w-0", false, false)
	now = now.Add(time.Minute)
	unknown("down again")
	account.answered("0", wire.ExitRecord{}, nil)
	account.stalled()
	_, known := account.trouble()
	require.True(t, known, "nothing runs there any more")
}

// Some MPIs ask a host for its shell before they start the daemon there.
func TestProbeIsNoDaemon(t *testing.T) {
	account, now := account(), time.Unix(0, 0)
	account.now = func() time.Time { return now }
	account.called("w-1", "probe", nil)
	account.answered("probe", wire.ExitRecord{}, nil)
	now = now.Add(time.Hour)
	account.stalled()
	_, known := account.trouble()
	require.False(t, known)
}
