package framework

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// sound returns a valid Launch of two workers with two ranks each, and a server.
func sound() (Launch, Cluster) {
	l := Launch{
		Env:      []Var{{Name: "A", Value: "1", Why: "because"}},
		Files:    []File{{Name: "sitecustomize.py", Data: []byte("x")}},
		Warnings: []string{"a word"},
	}
	for rank := range 4 {
		l.Processes = append(l.Processes, Process{Worker: rank / 2, Rank: rank, Local: rank % 2, Role: "worker", Index: rank,
			Env: []Var{{Name: "RANK", Value: "x", Why: "its rank"}}, Argv: []string{"python3"}, After: "198.18.0.1:29500"})
	}
	l.Processes = append(l.Processes, Process{Rank: -1, Role: "scheduler", Part: Serves})
	return l, Cluster{Workers: []Node{{Name: "w-0"}, {Name: "w-1"}}}
}

func TestValidate(t *testing.T) {
	l, c := sound()
	require.NoError(t, Validate(l, c))
	require.NoError(t, Validate(Launch{}, c))
	for name, tc := range map[string]struct {
		spoil func(*Launch)
		want  string
	}{
		"worker out of range":    {func(l *Launch) { l.Processes[3].Worker = 2 }, "process 3: it is on worker 2, but there are only 2 workers"},
		"worker below 0":         {func(l *Launch) { l.Processes[0].Worker = -1 }, "process 0: it is on worker -1, but there are only 2 workers"},
		"rank twice":             {func(l *Launch) { l.Processes[2].Rank = 0 }, "processes 0 and 2 both have rank 0"},
		"rank left out":          {func(l *Launch) { l.Processes[1].Rank = 4 }, "process 1 has rank 4, but there are only 4 ranks"},
		"rank below -1":          {func(l *Launch) { l.Processes[1].Rank = -2 }, "process 1: its rank is -2, want -1 or more"},
		"local rank twice":       {func(l *Launch) { l.Processes[1].Local = 0 }, "processes 0 and 1 both have local rank 0 on worker 0"},
		"local rank too high":    {func(l *Launch) { l.Processes[1].Local = 2 }, "process 1 has local rank 2, but worker 0 has only 2 ranks"},
		"local rank below 0":     {func(l *Launch) { l.Processes[1].Local = -1 }, "process 1: its local rank is -1, want 0 or more"},
		"index twice":            {func(l *Launch) { l.Processes[1].Index = 0 }, `processes 0 and 1 both have the role "worker" and the index 0`},
		"index below 0":          {func(l *Launch) { l.Processes[4].Index = -1 }, "process 4: its index is -1, want 0 or more"},
		"unknown part":           {func(l *Launch) { l.Processes[4].Part = 3 }, "process 4: its part is 3, want 0 to 2"},
		"role with a bell":       {func(l *Launch) { l.Processes[4].Role = "a\ab" }, `process 4: its role "a\ab" has control characters`},
		"after without a port":   {func(l *Launch) { l.Processes[0].After = "198.18.0.1" }, `process 0: it starts after "198.18.0.1", which is not HOST:PORT`},
		"after without a host":   {func(l *Launch) { l.Processes[0].After = ":29500" }, `process 0: it starts after ":29500", which is not HOST:PORT`},
		"empty command":          {func(l *Launch) { l.Processes[0].Argv = []string{"", "x"} }, "process 0: the first word of its command is empty"},
		"zero byte in a command": {func(l *Launch) { l.Argv = []string{"a", "b\x00"} }, `the launcher's command: its command has a zero byte in "b\x00"`},
		"name with =":            {func(l *Launch) { l.Env[0].Name = "A=B" }, `the launcher's environment: "A=B" is not the name of a variable`},
		"name empty":             {func(l *Launch) { l.Processes[1].Env[0].Name = "" }, `process 1: "" is not the name of a variable`},
		"name with a line break": {func(l *Launch) { l.Env[0].Name = "A\nB" }, `the launcher's environment: "A\nB" is not the name of a variable`},
		"name twice":             {func(l *Launch) { l.Env = append(l.Env, l.Env[0]) }, "the launcher's environment: A is set twice"},
		"zero byte in a value":   {func(l *Launch) { l.Env[0].Value = "\x00" }, "the launcher's environment: the value of A has a zero byte"},
		"no reason":              {func(l *Launch) { l.Env[0].Why = "" }, "the launcher's environment: the reason for A is not one line of printable text"},
		"file with a slash":      {func(l *Launch) { l.Files[0].Name = "../x" }, `"../x" is not a file name, want no directory and no control characters`},
		"file name of dots":      {func(l *Launch) { l.Files[0].Name = ".." }, `".." is not a file name, want no directory and no control characters`},
		"file twice":             {func(l *Launch) { l.Files = append(l.Files, l.Files[0]) }, "file sitecustomize.py is given twice"},
		"file too large": {func(l *Launch) { l.Files[0].Data = bytes.Repeat([]byte{1}, mostFile+1) },
			"file sitecustomize.py is too large: 1048577 bytes, and 1048577 with the files before it; the limits are 1048576 for one file and 4194304 for all"},
		"warning with an escape": {func(l *Launch) { l.Warnings[0] = "\x1b[2J" }, `warning "\x1b[2J" is empty or has control characters`},
	} {
		t.Run(name, func(t *testing.T) {
			l, c := sound()
			tc.spoil(&l)
			require.EqualError(t, Validate(l, c), tc.want)
		})
	}
}
