package verdict

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	mpirun := Evidence{Command: Command{Name: "mpirun", Rule: ExitStrict}, Workers: 2, Opened: 2}
	with := func(change func(*Evidence)) Evidence {
		e := mpirun
		change(&e)
		return e
	}
	lost := []Lost{{Worker: "pi-worker-1", Cause: "the pod was deleted"}}
	for name, tc := range map[string]struct {
		e    Evidence
		code int
		why  string
	}{
		"success":            {mpirun, 0, ""},
		"exited with 7":      {with(func(e *Evidence) { e.Code = 7 }), 7, "mpirun exited with 7"},
		"killed by a signal": {with(func(e *Evidence) { e.Code, e.Signal = 137, 9 }), 137, "mpirun was killed by SIGKILL"},
		"a rank was killed":  {with(func(e *Evidence) { e.Code = 137 }), 137, "mpirun exited with 137"},
		"out of memory": {with(func(e *Evidence) { e.Code, e.Starved = 137, []string{"w-4"} }), 137,
			"worker w-4 ran out of memory: the kernel killed a process there (OOM); mpirun exited with 137"},
		"two out of memory": {with(func(e *Evidence) { e.Code, e.Starved = 137, []string{"w-4", "w-1"} }), 137,
			"worker w-4 (and 1 more worker) ran out of memory: the kernel killed a process there (OOM); mpirun exited with 137"},
		"a code above those of signals": {with(func(e *Evidence) { e.Code = 205 }), 205, "mpirun exited with 205"},
		"told to stop, exited with 0":   {with(func(e *Evidence) { e.Told = 15 }), 143, "told to stop by SIGTERM"},
		"told to stop by hand":          {with(func(e *Evidence) { e.Told, e.Code = 2, 1 }), 130, "told to stop by SIGINT"},
		"told, then lost":               {with(func(e *Evidence) { e.Told, e.Lost = 15, lost }), 143, "told to stop by SIGTERM"},
		"not found": {with(func(e *Evidence) { e.Start, e.Code = errors.New("mpirun: command not found"), 127 }),
			127, "mpirun: command not found"},
		"lost, exited with 0": {with(func(e *Evidence) { e.Lost = lost }), 76,
			"mpirun exited with 0, but worker pi-worker-1 lost: the pod was deleted"},
		"lost, ended by us, exited with 0": {with(func(e *Evidence) { e.Lost, e.Ended = lost, true }), 76, "worker pi-worker-1 lost: the pod was deleted"},
		"lost, noticed by mpirun": {with(func(e *Evidence) { e.Lost, e.Code = lost, 205 }), 76,
			"worker pi-worker-1 lost: the pod was deleted; mpirun exited with 205"},
		"lost, noticed by a script": {with(func(e *Evidence) { e.Rule, e.Lost, e.Code = ExitCommand, lost, 255 }), 76,
			"worker pi-worker-1 lost: the pod was deleted; mpirun exited with 255"},
		"lost, ended by us": {with(func(e *Evidence) { e.Lost, e.Code, e.Ended = lost, 143, true }), 76,
			"worker pi-worker-1 lost: the pod was deleted"},
		"several lost": {with(func(e *Evidence) {
			e.Lost = append([]Lost{{Worker: "w-0", Cause: "gone"}}, lost...)
			e.Ended, e.Code = true, 1
		}), 76, "worker w-0 lost: gone (and 1 more worker)"},
		"lost counts for any command": {with(func(e *Evidence) { e.Rule, e.Lost = ExitCommand, lost }), 76,
			"mpirun exited with 0, but worker pi-worker-1 lost: the pod was deleted"},
		"a session was killed": {with(func(e *Evidence) { e.Bad = []BadSession{{"w-1", 137, "was killed by SIGKILL"}} }), 137,
			"mpirun exited with 0, but its session on worker w-1 was killed by SIGKILL"},
		"two sessions ended badly": {with(func(e *Evidence) {
			e.Bad = []BadSession{{"w-1", 3, "exited with 3"}, {"w-0", 4, "exited with 4"}}
		}), 3, "mpirun exited with 0, but its session on worker w-1 exited with 3 (and 1 more session)"},
		"bad session without a code": {with(func(e *Evidence) { e.Bad = []BadSession{{"w-1", 0, "ended without a record"}} }), 1,
			"mpirun exited with 0, but its session on worker w-1 ended without a record"},
		"bad session, --exit=command": {with(func(e *Evidence) {
			e.Rule, e.Bad = ExitCommand, []BadSession{{"w-1", 3, "exited with 3"}}
		}), 0, ""},
		"nothing remote": {with(func(e *Evidence) { e.Opened = 0 }), 76,
			"mpirun exited with 0, but it started nothing on any of the 2 workers: everything ran in the launcher"},
		"nothing remote, one worker": {with(func(e *Evidence) { e.Opened, e.Workers = 0, 1 }), 76,
			"mpirun exited with 0, but it started nothing on the one worker: everything ran in the launcher"},
		"nothing remote, --exit=command": {with(func(e *Evidence) { e.Opened, e.Rule = 0, ExitCommand }), 0, ""},
		"nothing remote, no workers":     {with(func(e *Evidence) { e.Opened, e.Workers = 0, 0 }), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Judge(tc.e)
			require.Equal(t, tc.why, got.Why)
			require.Equal(t, tc.code, got.Code)
		})
	}
}

func TestJudgeHint(t *testing.T) {
	e := Evidence{Command: Command{Name: "mpirun", Rule: ExitStrict}, Workers: 2}
	require.Contains(t, Hint(e, Judge(e)), "--exit=command")
	e.Opened = 2
	require.Empty(t, Hint(e, Judge(e)))
	e.Bad = []BadSession{{"w", 3, "exited with 3"}}
	require.Contains(t, Hint(e, Judge(e)), "--exit=command")
}
