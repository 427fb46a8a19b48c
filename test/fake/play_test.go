//go:build mpi

package fake

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/care"
	"github.com/musterhq/muster/test/suite/proc"
)

//go:embed testdata/scripts/*.txtar
var scripts embed.FS

//go:embed testdata/attempts.sh
var attemptsSource []byte

// play plays a script of testdata/scripts. doc.go has its commands.
func play(t *testing.T, name string) {
	t.Parallel()
	playWith(t, name, families[0])
}

// playEach plays a script with each MPI.
func playEach(t *testing.T, name string) {
	every(t, func(t *testing.T, f family) { playWith(t, name, f) })
}

// playStarters plays a script with each MPI, and with ranks that Muster starts itself.
func playStarters(t *testing.T, name string) {
	playEach(t, name)
	t.Run("group", func(t *testing.T) {
		t.Parallel()
		playWith(t, name, family{name: "group"})
	})
}

func playWith(t *testing.T, name string, f family) {
	t.Helper()
	text, err := scripts.ReadFile("testdata/scripts/" + name + ".txtar")
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), name+".txtar")
	require.NoError(t, os.WriteFile(file, text, 0o644))
	s := &stage{family: f}
	testscript.Run(t, testscript.Params{
		Files: []string{file},
		Setup: s.setUp,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "openmpi", "mpich", "group":
				return cond == f.name, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"run": s.run, "start": s.start, "call": s.call, "ends": s.ends, "signal": s.signal, "drain": s.drain,
			"bad": s.bad, "up": s.up, "awaits": s.awaits, "report": s.report, "took": s.took, "ranks": s.ranks, "sees": s.sees,
			"says": s.says, "world": s.world, "innocent": s.innocent, "zero": s.zero,
		},
	})
}

// stage is the environment of a script.
type stage struct {
	t      testing.TB // of the script
	family family
	work   string
	job    *job
	last   outcome
	asked  time.Duration // when the job was last told to stop, as time since its start

	standIns string // directory of stand-ins of launchers, for zero
}

// setUp writes what scripts share to $WORK, and sets the programs' variables.
func (s *stage) setUp(env *testscript.Env) error {
	s.t, s.work = env.T().(testing.TB), env.WorkDir
	at := func(name string) string { return filepath.Join(s.work, name) }
	err := care.Lay(at("care"))
	for name, text := range map[string][]byte{"attempts.sh": attemptsSource, "steps.sh": stepsSource, "times_out.py": timesOutSource} {
		err = errors.Join(err, os.WriteFile(at(name), text, 0o644))
	}
	for name, value := range map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "BIN": bin, "PROGRAMS": programs, "BELOW": belowPrograms(s.t), "MPI4PY": mpi4pyMPICH(),
		"MPIRUN": s.family.mpirun, "RANK": s.family.rank, "ACT": s.family.program("act"), "HELLO": s.family.program("hello"), "PI": s.family.program("pi"),
		"ALLREDUCE": filepath.Join(programs, "allreduce.py"), "PORT": strconv.Itoa(freePort(s.t)),
		"ATTEMPTS": at("attempts.sh"), "STEPS": at("steps.sh"), "CARE": at("care"),
	} {
		env.Setenv(name, value)
	}
	return err
}

// spread splits words that begin with "@" at their spaces.
func spread(words []string) (all []string) {
	for _, word := range words {
		if several, ok := strings.CutPrefix(word, "@"); ok {
			all = append(all, strings.Fields(several)...)
		} else {
			all = append(all, word)
		}
	}
	return all
}

// split separates NAME=VALUE words at the front from the rest.
func split(words []string) (env, rest []string) {
	n := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || !strings.Contains(w, "=") })
	if n < 0 {
		n = len(words)
	}
	return words[:n], words[n:]
}

// start implements `start [NAME=VALUE...] FLAGS... -- COMMAND...`: it starts `agent run` with a report. A word that
// begins with "@" is replaced by its words, of which there may be none.
func (s *stage) start(_ *testscript.TestScript, _ bool, args []string) {
	env, words := split(spread(args))
	c := agentRun(s.t, nil)
	c.argv, c.env = append(c.argv[:len(c.argv)-1], words...), env
	s.job, s.asked = start(s.t, c), 0
}

// run implements `run CODES ...`: start, and ends CODES.
func (s *stage) run(ts *testscript.TestScript, neg bool, args []string) {
	s.start(ts, neg, args[1:])
	s.ends(ts, neg, args[:1])
}

// call implements `call CODES [NAME=VALUE...] WORDS...`: it runs any other command line.
func (s *stage) call(ts *testscript.TestScript, neg bool, args []string) {
	env, words := split(args[1:])
	s.last, s.asked, s.job = outcome{}, 0, start(s.t, call{argv: words, env: env})
	s.ends(ts, neg, args[:1])
}

// bad is call for a command line that is refused: it prints nothing to stdout.
func (s *stage) bad(ts *testscript.TestScript, neg bool, args []string) {
	s.call(ts, neg, args)
	require.NotContains(s.t, s.last.err, "panic")
	require.Empty(s.t, s.last.out)
}

// ends implements `ends CODES`: the job ends with one of the codes, separated by "|", and leaves nothing behind.
// Its output is for stdout, stderr and cmp.
func (s *stage) ends(ts *testscript.TestScript, _ bool, args []string) {
	s.last = s.job.wait()
	codes := strings.Split(args[0], "|")
	good := slices.Contains(codes, strconv.Itoa(s.last.code)) || args[0] == "!0" && s.last.code != 0 || args[0] == "any"
	require.True(s.t, good, "exit code %d, want %s\nstdout: %s\nstderr: %s", s.last.code, args[0], tail(s.last.out), tail(s.last.err))
	out, err := filepath.Join(s.work, ".stdout"), filepath.Join(s.work, ".stderr")
	ts.Check(os.WriteFile(out, []byte(s.last.out), 0o600))
	ts.Check(os.WriteFile(err, []byte(s.last.err), 0o600))
	ts.Check(ts.Exec("/bin/sh", "-c", `cat "$0"; cat "$1" >&2`, out, err))
}

var signals = map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL}

// signal implements `signal NAME`: it sends the signal to the job's own process.
func (s *stage) signal(_ *testscript.TestScript, _ bool, args []string) {
	s.asked = time.Since(s.job.began)
	s.job.signal(signals[args[0]])
}

// drain implements `drain N`: it tells the job's fake worker N, counted from 0, to stop.
func (s *stage) drain(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	s.asked = time.Since(s.job.began)
	ts.Check(syscall.Kill(s.job.workers(s.t)[n], syscall.SIGTERM))
}

// up implements `up FILE...`: it waits until the files exist.
func (s *stage) up(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		require.Eventually(s.t, func() bool { return exists(ts.MkAbs("."), file) }, patience, 10*time.Millisecond, "%s: %s", file, s.job.err)
	}
}

// awaits implements `awaits stdout|stderr TEXT`: it waits until the job has written TEXT.
func (s *stage) awaits(_ *testscript.TestScript, _ bool, args []string) {
	await(s.t, map[string]*proc.Output{"stdout": s.job.out, "stderr": s.job.err}[args[0]], args[1])
}

// took implements `took ATLEAST ATMOST`: it checks how long the last job ran, or how long it ran after it was last
// told to stop.
func (s *stage) took(ts *testscript.TestScript, _ bool, args []string) {
	least, err := time.ParseDuration(args[0])
	ts.Check(err)
	most, err := time.ParseDuration(args[1])
	ts.Check(err)
	took := s.last.took - s.asked
	require.True(s.t, least <= took && took < most, "took %s, want %s to %s", took, least, most)
}

// ranks implements `ranks HOST=N...`: each HOST had N ranks that said hello, all in one session.
func (s *stage) ranks(ts *testscript.TestScript, _ bool, args []string) {
	want := map[string]int{}
	for _, arg := range args {
		host, number, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(number)
		ts.Check(err)
		want[host] = n
	}
	require.Equal(s.t, want, perWorker(s.t, ranks(s.t, s.last.out)))
}

// world implements `world N`: the ranks 0 to N-1 are in one world.
func (s *stage) world(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	ofWorld(s.t, s.last, n)
}

// says implements `says TEXT`: stdout or stderr contains TEXT.
func (s *stage) says(_ *testscript.TestScript, _ bool, args []string) {
	require.Contains(s.t, s.last.out+s.last.err, args[0])
}

// innocent requires that mpirun itself was not killed, and that no worker is lost.
func (s *stage) innocent(*testscript.TestScript, bool, []string) {
	require.NotRegexp(s.t, `mpi(run|exec)\S* was killed by SIG`, s.last.err)
	require.Empty(s.t, s.last.report.Lost)
}

// zero implements `zero CODE WORDS [NAME=VALUE...] FLAGS... -- COMMAND...`: run with two workers, and with
// stand-ins of launchers that exit 0. They work in a new directory, $DIR. If CODE is not 0, a line of the agent
// must have the words, in which \n is a newline.
func (s *stage) zero(ts *testscript.TestScript, neg bool, args []string) {
	if s.standIns == "" {
		s.standIns = swallower(s.t)
	}
	env, words := split(args[2:])
	dir, err := os.MkdirTemp(s.work, "z")
	ts.Check(err)
	if !strings.HasPrefix(words[0], "--chdir=") {
		words = append([]string{"--chdir=" + dir}, words...)
	}
	all := slices.Concat([]string{args[0], "DIR=" + dir, "PATH=" + s.standIns + ":" + bin + ":" + os.Getenv("PATH")}, env, []string{"--fake=2", "--shims"}, words)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], `\n`, "\n")
	}
	s.run(ts, neg, all)
	if args[0] == "0" {
		require.NotContains(s.t, s.last.err, " exited with 0, but ")
		return
	}
	require.Contains(s.t, s.last.err, "agent: "+strings.ReplaceAll(args[1], `\n`, "\n"))
	if strings.Contains(args[1], " exited with 0, but ") {
		require.Regexp(s.t, "(?m)^hint: .*--exit=command ", s.last.err)
	}
}

// sees implements `sees N`: no process of any attempt, N in each, saw a process of an earlier attempt, as reported
// by attempts.sh. Each attempt must have its own ports.
func (s *stage) sees(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	require.NotContains(s.t, s.last.out, "old: ")
	ports := map[int]bool{}
	for i, a := range s.last.report.Attempts {
		require.Equal(s.t, n, strings.Count(s.last.out, fmt.Sprintf("attempt %d sees 0\n", i)), "attempt %d: %s", i, tail(s.last.out))
		require.Equal(s.t, i, a.Attempt)
		ports[a.Port] = true
	}
	require.Len(s.t, ports, len(s.last.report.Attempts), "each attempt must have its own ports")
}

// report implements `report PATH OP VALUE` for a member of the report, such as attempts.0.rank. The member is equal
// to the value ("=="), at least the value (">="), less than the value ("<"), or contains it ("has"). Or its number
// of elements is the value ("len"), or at least the value ("atleast").
func (s *stage) report(ts *testscript.TestScript, _ bool, args []string) {
	text, err := json.Marshal(s.last.report)
	ts.Check(err)
	var at any
	ts.Check(json.Unmarshal(text, &at))
	for step := range strings.SplitSeq(args[0], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[step]
		case []any:
			n, err := strconv.Atoi(step)
			ts.Check(err)
			require.Greater(s.t, len(v), n, "%s", text)
			at = v[n]
		}
	}
	list, _ := at.([]any)
	said := ""
	if at != nil {
		said = fmt.Sprint(at)
	}
	number, _ := at.(float64)
	want, _ := strconv.ParseFloat(args[2], 64)
	good := map[string]bool{"==": said == args[2], ">=": number >= want, "<": number < want,
		"has": strings.Contains(said, args[2]), "len": len(list) == int(want), "atleast": len(list) >= int(want)}[args[1]]
	require.True(s.t, good, "the report's %s: %s", strings.Join(args, " "), text)
}
