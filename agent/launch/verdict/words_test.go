package verdict

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/phrase"
	"github.com/musterhq/muster/agent/notice"
)

// TestWords checks that mpirun's messages identify a rank whose end its worker did not see.
// Messages that contradict the workers or mpirun's own exit code are ignored.
func TestWords(t *testing.T) {
	rank := func(n int, worker string, code, signal int) RankEnd {
		return RankEnd{Worker: worker, Rank: fmt.Sprint(n), PID: 70 + n, Code: code, Signal: signal, What: fmt.Sprintf("rank %d, solver (pid %d), %s", n, 70+n, phrase.HowEnded(code, signal))}
	}
	troubles := func(ranks ...RankEnd) (all []Trouble) {
		for _, r := range ranks {
			one := r.trouble()
			one.Likely = OfRank
			if Killed(r.Signal) {
				one.Likely = OfSession
			}
			all = append(all, one)
		}
		return all
	}
	word := func(n, code, signal int, worker string) Word {
		return Word{End: notice.End{Rank: n, Code: code, Signal: signal}, Worker: worker}
	}
	intel := func(n, signal int, worker string) Word {
		return Word{End: notice.End{Rank: n, PID: 70 + n, Code: 128 + signal, Signal: signal, Hydra: true}, Worker: worker}
	}
	mpich := Word{End: notice.End{Rank: -1, Hydra: true}, Worker: "w-1"}
	proxy := Trouble{Worker: "w-0", What: "its session exited with 7", Code: 7, Likely: OfSession}
	daemon := Trouble{Worker: "w-0", What: "its orted (pid 5) was killed by SIGKILL", Code: 137}
	victim := rank(0, "w-0", 137, 9)
	unknown := unknownFirst + "; mpirun exited with "
	for name, tc := range map[string]struct {
		e    Evidence
		code int
		why  string
	}{
		"Open MPI 4 reports an exit at the start": {Evidence{Command: Command{Code: 3}, Unseen: []string{"w-1"}, Words: []Word{word(1, 3, 0, "")}}, 3,
			"worker w-1: rank 1 exited with 3, as mpirun reported; mpirun exited with 3"},
		"Open MPI 5 reports a rank without a host": {Evidence{Command: Command{Code: 139}, Unseen: []string{"w-1", "w-0", "w-1"}, Words: []Word{word(1, 139, 11, "")}}, 139,
			"rank 1 was killed by SIGSEGV, as mpirun reported; mpirun exited with 139"},
		"the worker knows the rank without its number": {Evidence{Command: Command{Code: 3}, Ranks: []RankEnd{{Worker: "w-1", PID: 71, Code: 3, What: "a rank, (pid 71), exited with 3", Unborn: true}}, Unseen: []string{"w-1"}, Words: []Word{word(1, 3, 0, "")}}, 3, "worker w-1: rank 1 (pid 71) exited with 3, as mpirun reported; mpirun exited with 3"},
		"the worker saw the rank": {Evidence{Command: Command{Code: 3}, Ranks: []RankEnd{rank(1, "w-1", 3, 0)}, Words: []Word{word(1, 3, 0, "")}}, 3,
			"worker w-1: rank 1, solver (pid 71), exited with 3; mpirun exited with 3"},
		"a victim was seen, Intel MPI reports the first rank": {Evidence{Command: Command{Code: 255}, Ranks: []RankEnd{victim}, Unseen: []string{"w-1"}, Words: []Word{intel(1, 11, "w-1")}}, 139,
			"worker w-1: rank 1 (pid 71) was killed by SIGSEGV, as mpirun reported; mpirun exited with 255"},
		"Intel MPI reports a rank that it may have killed": {Evidence{Command: Command{Code: 255}, Ranks: []RankEnd{victim}, Unseen: []string{"w-1"}, Words: []Word{intel(0, 9, "w-0")}}, 137,
			"worker w-0: rank 0, solver (pid 70), was killed by SIGKILL; mpirun exited with 255"},
		"Intel MPI reports a rank that it may have killed, unseen": {Evidence{Command: Command{Code: 255}, Unseen: []string{"w-0", "w-1"}, Words: []Word{intel(0, 9, "w-0")}}, 255,
			"mpirun exited with 255"},
		"Intel MPI reports the rank that ran out of memory": {Evidence{Command: Command{Code: 255}, Starved: []string{"w-1"}, Unseen: []string{"w-1"}, Words: []Word{intel(1, 9, "w-1")}}, 137,
			"worker w-1 ran out of memory: the kernel killed a process there (OOM); worker w-1: rank 1 (pid 71) was killed by SIGKILL, as mpirun reported; mpirun exited with 255"},
		"Open MPI 5 reports the rank that ran out of memory": {Evidence{Command: Command{Code: 137}, Starved: []string{"w-1"}, Unseen: []string{"w-1", "w-0"}, Words: []Word{word(1, 137, 9, "")}}, 137,
			"worker w-1 ran out of memory: the kernel killed a process there (OOM); worker w-1: rank 1 was killed by SIGKILL, as mpirun reported; mpirun exited with 137"},
		"mpirun reports the first of two killed ranks": {Evidence{Command: Command{Code: 137}, Ranks: []RankEnd{victim, rank(1, "w-1", 137, 9)}, Words: []Word{word(1, 137, 9, "w-1")}}, 137,
			"worker w-1: rank 1, solver (pid 71), was killed by SIGKILL; mpirun exited with 137"},
		"a rank left without MPI_Finalize": {Evidence{Command: Command{Code: 1}, Ranks: []RankEnd{victim}, Unseen: []string{"w-1"}, Words: []Word{word(1, 0, 0, "w-1")}}, 1,
			"worker w-1: rank 1 exited without MPI_Finalize, as mpirun reported; mpirun exited with 1"},
		"another rank failed before": {Evidence{Command: Command{Code: 3}, Ranks: []RankEnd{rank(0, "w-0", 3, 0), rank(1, "w-1", 3, 0)}, Words: []Word{word(1, 3, 0, "")}}, 3,
			"worker w-0: rank 0, solver (pid 70), exited with 3; mpirun exited with 3"},
		"the launcher has ranks":                {Evidence{Command: Command{Code: 3}, Own: true, Unseen: []string{"w-1"}, Words: []Word{word(0, 3, 0, "")}}, 3, "rank 0 exited with 3, as mpirun reported; mpirun exited with 3"},
		"mpirun's code contradicts the message": {Evidence{Command: Command{Code: 4}, Unseen: []string{"w-1"}, Words: []Word{word(1, 3, 0, "")}}, 4, "mpirun exited with 4"},
		"a seen end contradicts the message":    {Evidence{Command: Command{Code: 137}, Ranks: []RankEnd{victim}, Unseen: []string{"w-1"}, Words: []Word{word(0, 139, 11, ""), word(0, 137, 9, "w-1")}}, 137, "worker w-0: rank 0, solver (pid 70), was killed by SIGKILL; mpirun exited with 137"},
		"all ranks were seen":                   {Evidence{Command: Command{Code: 3}, Words: []Word{word(1, 3, 0, "w-1")}}, 3, "mpirun exited with 3"},
		"all ranks of the worker were seen":     {Evidence{Command: Command{Code: 3}, Unseen: []string{"w-0"}, Words: []Word{word(1, 3, 0, "w-1")}}, 3, "mpirun exited with 3"},
		"the second message is correct":         {Evidence{Command: Command{Code: 3}, Unseen: []string{"w-1"}, Words: []Word{word(0, 9, 0, ""), word(1, 3, 0, "")}}, 3, "worker w-1: rank 1 exited with 3, as mpirun reported; mpirun exited with 3"},
		"a daemon was killed": {Evidence{Command: Command{Code: 137}, Troubles: []Trouble{daemon}, Ranks: []RankEnd{rank(1, "w-1", 137, 9)}, Words: []Word{word(1, 137, 9, "w-1")}}, 137,
			"worker w-0: its orted (pid 5) was killed by SIGKILL; mpirun exited with 137"},
		"MPICH reports the host": {Evidence{Command: Command{Code: 255}, Troubles: []Trouble{proxy}, Unseen: []string{"w-0", "w-1"}, Words: []Word{mpich}}, 255,
			"worker w-1: which of its ranks ended first is unknown; mpirun exited with 255"},
		"MPICH reports the host of the only rank there": {Evidence{Command: Command{Code: 255}, Troubles: append([]Trouble{proxy}, troubles(rank(1, "w-1", 137, 9))...), Ranks: []RankEnd{rank(1, "w-1", 137, 9)}, Words: []Word{mpich}}, 137,
			"worker w-1: rank 1, solver (pid 71), was killed by SIGKILL; mpirun exited with 255"},
		"MPICH reports the host of two victims": {Evidence{Command: Command{Code: 255}, Ranks: []RankEnd{rank(1, "w-1", 137, 9), rank(2, "w-1", 137, 9)}, Words: []Word{mpich}}, 137,
			"worker w-1: which of its ranks ended first is unknown; mpirun exited with 255"},
		"MPICH reports the host, and the worker its rank": {Evidence{Command: Command{Code: 255}, Troubles: troubles(rank(1, "w-1", 139, 11)), Ranks: []RankEnd{rank(1, "w-1", 139, 11)}, Words: []Word{mpich}}, 139,
			"worker w-1: rank 1, solver (pid 71), was killed by SIGSEGV; mpirun exited with 255"},
		"no message": {Evidence{Command: Command{Code: 255}, Ranks: []RankEnd{victim}, Unseen: []string{"w-1"}}, 255, unknown + "255"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.e.Name, tc.e.Rule, tc.e.Workers, tc.e.Opened = "mpirun", ExitStrict, 2, 2
			v := Judge(tc.e)
			require.Equal(t, tc.why, v.Why)
			require.Equal(t, tc.code, v.Code)
		})
	}
}

// TestWordsOfAScript checks that only the last mpirun's messages count, and only if it is known
// which mpirun is the last.
func TestWordsOfAScript(t *testing.T) {
	began := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	said := func(n int, at time.Time) Word { return Word{End: notice.End{Rank: n, Code: 3, At: at}} }
	words := []Word{said(0, began.Add(time.Second)), said(1, began.Add(3*time.Second))}
	first, second := LaunchEnd{Passed: true, Began: began}, LaunchEnd{Began: began.Add(2 * time.Second)}
	for name, tc := range map[string]struct {
		launches []LaunchEnd
		want     []Word
	}{
		"two in sequence failed":               {[]LaunchEnd{first, second}, words[1:]},
		"the script continued after a failure": {[]LaunchEnd{first}, nil},
		"two at a time":                        {[]LaunchEnd{second, second}, nil},
		"no mpirun":                            {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, len(tc.want), len(Evidence{Launches: tc.launches, Words: words}.Latest().Words))
			require.ElementsMatch(t, tc.want, Evidence{Launches: tc.launches, Words: words}.Latest().Words)
		})
	}
}
