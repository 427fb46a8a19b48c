//go:build linux

package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/join"
	"github.com/musterhq/muster/agent/settings"
)

// TestBadInput checks that bad input gives one sentence, one hint and exit code 64, and starts
// nothing.
func TestBadInput(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(short, []byte("secret-word\n"), 0o600))
	const meet = "--coordinator=127.0.0.1:9377"
	for _, row := range []struct{ line, env, want, hint string }{
		{"--workers=2 --rank=0 " + meet, "", "no command given", "agent join --workers=4 -- python train.py"},
		{"--rank=0 -- true", "", "missing --workers: the number of members is unknown", "MUSTER_WORKERS=4"},
		{"--workers=2 -- true", "", `missing --rank: the host name "pod" does not end in a number`, "JOB_COMPLETION_INDEX"},
		{"--workers=2 --rank=2 " + meet + " -- true", "", "rank 2 is too large: the job has 2 members", "ranks count from 0"},
		{"--workers=2 --rank=5 -- true", "", "rank 5 is too large: the job has 2 members", "ranks count from 0"},
		{"--workers=2 --rank=1 " + meet + " -- true", "JOB_COMPLETION_INDEX=0", "--rank=1 and JOB_COMPLETION_INDEX=0 contradict each other", "omit --rank"},
		{"--workers=2 " + meet + " -- true", "JOB_COMPLETION_INDEX=0 MUSTER_POD_INDEX=1", "JOB_COMPLETION_INDEX=0 and MUSTER_POD_INDEX=1 contradict each other", ""},
		{"--workers=2 " + meet + " -- true", "MUSTER_POD_INDEX=one", `MUSTER_POD_INDEX="one" is not a rank`, ""},
		{"--workers=2 --rank=1 -- true", "", `missing --coordinator: the host name "pod" does not end in the rank of this member, 1`, "--coordinator=HOST:9377"},
		{"--workers=2 --rank=1 " + meet + " -- true", "", "missing token: 2 members need one", "kubectl create secret generic"},
		{"--workers=2 --rank=1 " + meet + " --token-file=" + short + " -- true", "", "the token is too short: 11 bytes, want at least 16", "kubectl create secret generic"},
		{"--workers=2 --rank=1 " + meet + " --token-file=/nowhere -- true", "", "read the token: open /nowhere", "mounted Secret"},
		{"--workers=2 --rank=1 --coordinator=a:b:c -- true", "MUSTER_TOKEN=" + token, "--coordinator=a:b:c is not HOST:PORT", ""},
		{"--workers=1 --framework=plugin:mine -- true", "", "--framework=plugin:mine: agent join cannot load plugins", "agent run --framework=plugin:mine"},
		{"--workers=1 --framework=tortch -- true", "", "--framework=tortch: unknown framework", ""},
		{"--workers=1 -- mpirun true", "", "MPI needs a launcher", "agent run --workers=1 --job=NAME -- mpirun true"},
		{"--workers=1 -- horovodrun true", "", "horovodrun needs a launcher, because it starts processes on other pods", "agent run"},
		{"--workers=1 --success=chief -- true", "", "--success=chief: no such process", ""},
		{"--workers=1 --framework=torch --roles=ps=1 -- true", "", "has the role ps, which torch does not have: want one of master, worker", ""},
		{"--workers=1 --restart-on=137,x -- true", "", `--restart-on=137,x: "x" is not an exit code`, "+1,-143"},
		{"--workers=1 --max-restarts=-1 -- true", "", "--max-restarts=-1: want 0 or more", ""},
		{"--workers=1 -- true", "MUSTER_MAX_RESTARTS=many", `MUSTER_MAX_RESTARTS="many" (sets --max-restarts): want a number`, ""},
		{"--workers=1 -- true", "MUSTER_MAX_RESTART=3", "unknown variable MUSTER_MAX_RESTART for agent join", "did you mean MUSTER_MAX_RESTARTS? "},
		{"--workers=2 --rank=1 " + meet + " --lease=5s -- true", "MUSTER_TOKEN=" + token, "--lease=5s is too short", "--lease=1m"},
		{"--workers=1 --roles=chief=2 -- true", "", "--roles=chief=2 is for 2 workers, but the job has 1", ""},
		{"--workers=1 --env=x -- true", "", `--env "x" is not NAME=VALUE`, ""},
		{"--workers=1 --port=70000 -- true", "", "--port=70000: want 1024 to 64536", ""},
		{"--workers=1 --timeout=-1s -- true", "", "--timeout=-1s must not be negative", ""},
		{"--workers=1 --grace=1m -- true", "MUSTER_JOB=pi MUSTER_GRACE=25s", "--grace=1m0s is longer than the grace period of this pod, 30s", "set terminationGracePeriodSeconds: 65 in the pod's template"},
		{"--workers=1 --grace=soon -- true", "", `join: --grace="soon": want a time, as in --grace=90s, 10m or 1h`, "agent join --help"},
		{"--workers=1 -- true", "MUSTER_GRACE=soon", `MUSTER_GRACE="soon" (sets --grace): want a time, as in --grace=90s, 10m or 1h`, ""},
		{"--workers=1 --grace=-5s -- true", "", "join: --grace=-5s must not be negative", "write a time as 90s, 10m or 1h"},
		{"--workers=many -- true", "", `join: --workers="many": want a number, as in --workers=4`, "agent join --help"},
		{"--workers=1 --fail-on=nan -- true", "", "unknown flag: -fail-on", "agent join --help"},
		{"--wrokers=1 -- true", "", "unknown flag: -wrokers", "agent join --help"},
	} {
		out, code := inPod(t, row.line, row.env)
		require.Equal(t, 64, code, "%s\n%s", row.line, out)
		require.Contains(t, out, row.want, row.line)
		require.Contains(t, out, "agent: ", row.line)
		if row.hint != "" {
			_, hint, _ := strings.Cut(out, "hint: ")
			require.Contains(t, hint, row.hint, row.line)
		}
		require.NotContains(t, out, "secret-word")
		require.NotContains(t, out, token)
	}
}

// TestVariables checks that each flag has a known variable, and that an unknown variable is an
// error.
func TestVariables(t *testing.T) {
	cfg := join.Defaults()
	set := newFlags("join")
	joinFlags(set, &cfg)
	set.VisitAll(func(f *flag.Flag) { require.Contains(t, settings.Known(), settings.Variable(f.Name)) })
	for env, want := range map[string]string{
		"MUSTER_SLOT=8":    "agent: unknown variable MUSTER_SLOT for agent worker\nhint: did you mean MUSTER_SLOTS? ",
		"MUSTER_SLOTS=all": "agent: worker: MUSTER_SLOTS=\"all\" (sets --slots): want a number\n",
	} {
		cmd := exec.Command(bin, "worker", "--await=10s")
		cmd.Env = []string{"MUSTER_DIR=" + t.TempDir(), env}
		out, _ := cmd.CombinedOutput() // the exit code is in cmd.ProcessState
		require.Equal(t, 64, cmd.ProcessState.ExitCode(), "%s", out)
		require.Contains(t, string(out), want)
	}
	// The variables of a Service "muster" in the namespace are no error.
	cmd := exec.Command(bin, "join", "--workers=1", "--", "true")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "MUSTER_DIR=" + filepath.Join(t.TempDir(), "r"), "MUSTER_TERMINATION_LOG=", "MUSTER_SERVICE_HOST=10.96.0.7", "MUSTER_SERVICE_PORT=80", "MUSTER_PORT=tcp://10.96.0.7:80"}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// inPod runs `agent join` with the host name "pod", in a UTS namespace.
func inPod(t *testing.T, line, env string) (string, int) {
	t.Helper()
	cmd := exec.Command("unshare", append([]string{"--uts", "--map-root-user", "--user", "sh", "-c", `hostname pod; exec "$@"`, "sh", bin, "join"}, strings.Fields(line)...)...)
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "MUSTER_DIR=" + t.TempDir()}, strings.Fields(env)...)
	out, _ := cmd.CombinedOutput() // the exit code is in cmd.ProcessState
	return string(out), cmd.ProcessState.ExitCode()
}

func TestJoinHelp(t *testing.T) {
	out, err := exec.Command(bin, "join", "--help").Output()
	require.NoError(t, err)
	for _, flag := range []string{"--workers", "--rank", "--coordinator", "--token-file", "--slots", "--framework", "--procs-per-worker", "--roles",
		"--success", "--env", "--chdir", "--interface", "--port", "--timeout", "--lease", "--grace", "--max-restarts", "--restart-on"} {
		require.Contains(t, string(out), "  "+flag+" ")
	}
}

// TestOneMember checks that a single member only acts as PID 1 of its command.
func TestOneMember(t *testing.T) {
	for _, row := range []struct {
		script, out string
		code        int
	}{
		{"cat; echo $RANK/$WORLD_SIZE", "typed0/1\n", 0},
		{"exit 7", "", 7},
		{"kill -9 $$", "", 137},
		{"sleep 1002 & exit 3", "", 3},
	} {
		cmd := exec.Command(bin, "join", "--workers=1", "--", "sh", "-c", row.script)
		cmd.Env = []string{"PATH=/usr/bin:/bin", "MUSTER_DIR=" + filepath.Join(t.TempDir(), "made")}
		cmd.Stdin = strings.NewReader("typed")
		out, _ := cmd.CombinedOutput() // the exit code is in cmd.ProcessState
		require.Equal(t, row.code, cmd.ProcessState.ExitCode(), row.script)
		require.Equal(t, row.out, string(out), row.script)
	}
}
