package verdict

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatCameFirst has the evidence of real jobs, with the milliseconds in which it came to light.
func TestWhatCameFirst(t *testing.T) {
	at := func(ms int) time.Time { return time.Time{}.Add(time.Hour + time.Duration(ms)*time.Millisecond) }
	session := func(worker string, moment, code, ms int) Trouble {
		return Trouble{Worker: worker, What: "its session ended", Code: code, Likely: OfSession, Moment: moment, At: at(ms)}
	}
	rank := func(moment int) Trouble {
		return Trouble{Worker: "w-2", What: "rank 0 crashed", Code: 139, Likely: OfRank, Rank: true, Number: "0", Moment: moment}
	}
	segv := RankEnd{Worker: "w-2", Rank: "0", PID: 7, Code: 139, Signal: int(syscall.SIGSEGV), What: "rank 0 crashed", At: at(60)}
	child := func(ms int) RankEnd {
		return RankEnd{Worker: "w-2", PID: 8, Code: 1, What: "a rank, (pid 8), exited with 1", At: at(ms), Unborn: true}
	}
	proxy := Trouble{Worker: "w-2", What: "its hydra_pmi_proxy was killed by SIGSEGV", Code: 139, Proxy: true, Moment: 3, At: at(61)}
	agent := Cut{Worker: "w-4", Moment: 1}
	const cut = "the session on worker w-4 was cut off first, when its agent ended; mpirun exited with "
	for name, c := range map[string]struct {
		e    Evidence
		code int
		why  string
	}{
		"MPICH 4.2: an agent is killed, then a rank and its proxy crash": {Evidence{Command: Command{Code: 15},
			Cut: []Cut{agent}, Troubles: []Trouble{rank(2), proxy}, Ranks: []RankEnd{segv}}, 15, cut + "15"},
		"MPICH 4.2: an agent is killed, then a rank crashes and its proxy gives up": {Evidence{Command: Command{Code: HydraGaveUp},
			Cut: []Cut{agent}, Troubles: []Trouble{rank(2), session("w-2", 4, 7, 65)}, Ranks: []RankEnd{segv}}, HydraGaveUp, cut + "255"},
		"the same, and Muster ends mpirun": {Evidence{Command: Command{Code: 143}, Ended: true,
			Cut: []Cut{agent}, Troubles: []Trouble{rank(2), proxy}, Ranks: []RankEnd{segv}}, 76,
			"the session on worker w-4 was cut off first, when its agent ended; mpirun did not end by itself"},
		"MPICH 4.2: a rank crashes first": {Evidence{Command: Command{Code: HydraGaveUp},
			Cut: []Cut{{Worker: "w-4", Moment: 5}}, Troubles: []Trouble{rank(2), session("w-2", 4, 7, 65)}, Ranks: []RankEnd{segv}}, 139,
			"worker w-2: rank 0 crashed; mpirun exited with 255"},
		"Open MPI 5: a rank crashes, and its agents are ended before that is reported": {Evidence{Command: Command{Code: 139},
			Cut: []Cut{agent}, Troubles: []Trouble{rank(2), session("w-4", 3, 255, 65)}, Ranks: []RankEnd{segv}}, 139,
			"worker w-2: rank 0 crashed; mpirun exited with 139"},
		"Open MPI 5: a daemon cannot start, then the child of another one exits": {Evidence{Command: Command{Code: 1},
			Cut: []Cut{{Worker: "w-2", Moment: 2}}, Troubles: []Trouble{session("w-4", 1, 1, 0), session("w-2", 3, 1, 60)}, Ranks: []RankEnd{child(58)}}, 1,
			"worker w-4: its session ended; mpirun exited with 1"},
		"Open MPI 5: a rank exits before it was seen, then sessions": {Evidence{Command: Command{Code: 1},
			Troubles: []Trouble{session("w-4", 1, 1, 10)}, Ranks: []RankEnd{child(3)}}, 1,
			"worker w-2: a rank, (pid 8), exited with 1; mpirun exited with 1"},
	} {
		t.Run(name, func(t *testing.T) {
			c.e.Name, c.e.Rule, c.e.Workers, c.e.Opened = "mpirun", ExitStrict, 3, 3
			require.Equal(t, Verdict{c.code, c.why}, Judge(c.e))
		})
	}
}
