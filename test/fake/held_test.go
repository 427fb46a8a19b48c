//go:build mpi

package fake

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBackgroundHoldsNoJob checks that a process in the background does not keep a job running by holding the
// output of a command that has ended, however the process was started.
func TestBackgroundHoldsNoJob(t *testing.T) {
	t.Parallel()
	const plain = "--framework=plain"
	agent := filepath.Join(bin, "agent")
	rows := map[string]string{
		"stdout":  "sleep 1000 2>/dev/null & exit 0",
		"stderr":  "sleep 1000 >/dev/null & exit 0",
		"both":    "sleep 1000 & exit 0",
		"nohup":   "nohup sleep 1000 & exit 0",
		"setsid":  "setsid sleep 1000 & exit 0",
		"daemon":  "setsid sleep 1000 >/dev/null 2>&1 </dev/null & exit 0",
		"failure": "sleep 1000 & exit 3",
	}
	for row, line := range rows {
		want := 0
		if row == "failure" {
			want = 3
		}
		quoted := fmt.Sprintf("'%s'", line)
		for way, c := range map[string]call{
			"plain": agentRun(t, []string{"--fake=1", plain}, "sh", "-c", line),
			"rsh":   agentRun(t, []string{"--fake=1"}, agent, "rsh", "127.0.0.2", line),
			"pdsh":  agentRun(t, []string{"--fake=1"}, "sh", "-c", "pdsh -S -R exec -w 127.0.0.2 "+agent+" rsh %h "+quoted),
		} {
			t.Run(row+"/"+way, func(t *testing.T) {
				t.Parallel()
				o := run(t, c)
				o.wants(t, want)
				require.Less(t, o.took, 30*time.Second)
			})
		}
	}
}

// TestBackgroundThatWrites checks that the job waits for the last byte of a process that still writes.
func TestBackgroundThatWrites(t *testing.T) {
	t.Parallel()
	o := run(t, agentRun(t, []string{"--fake=1", "--framework=plain"}, "sh", "-c", "(for i in 1 2 3; do sleep 5; echo line $i; done) & exit 0"))
	o.wants(t, 0)
	require.Contains(t, o.out, "line 3")
}

// backgrounds are lines that leave a process behind that holds the output.
var backgrounds = map[string]string{
	"silent": "sleep 1000 &",
	"writes": "(while :; do echo more; sleep 1; done) &",
}

// TestBackgroundOfARankIsNamed is a part of the matrix that make fake-held runs.
func TestBackgroundOfARankIsNamed(t *testing.T) {
	t.Parallel()
	for i, f := range families {
		what, code := []string{"silent", "writes"}[i], 3*i
		t.Run(fmt.Sprintf("%s/%s/%d", f.name, what, code), func(t *testing.T) {
			t.Parallel()
			isNamed(t, start(t, agentRun(t, []string{"--fake=1"}, f.mpirun, "-n", "1", "sh", "-c", leaving(what, code))), code)
		})
	}
}

// leaving returns a line that leaves a process behind and exits with a code.
func leaving(what string, code int) string { return fmt.Sprintf("%s exit %d", backgrounds[what], code) }

var heldBy = regexp.MustCompile(`has ended; \S+ \(pid (\d+)\) on 127\.0\.0\.\d still holds its output`)

// isNamed requires that a job ends by itself, or after the processes have ended that it says it waits for.
func isNamed(t *testing.T, j *job, want int) {
	t.Helper()
	killed := map[string]bool{}
	for limit := time.Now().Add(patience); ; {
		select {
		case <-j.ended:
			o := j.wait()
			o.wants(t, want)
			waited := "by itself"
			if len(killed) > 0 {
				waited = "when what it named had ended"
			}
			t.Logf("%s: %d after %s, %s", t.Name(), o.code, o.took.Round(time.Second), waited)
			return
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(j.began) > 15*time.Second { // before that, the job leaves a silent process alone
			for _, m := range heldBy.FindAllStringSubmatch(j.err.String(), -1) {
				pid, err := strconv.Atoi(m[1])
				require.NoError(t, err)
				if !killed[m[1]] {
					require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "kill the process that the job named")
				}
				killed[m[1]] = true
			}
			require.NotEmpty(t, killed, "the job waits and does not name a process: %s", tail(j.err.String()))
		}
		require.False(t, time.Now().After(limit), "the job hangs: %s", strings.Join([]string{tail(j.err.String()), fmt.Sprint(remains(j.mark))}, "\n"))
	}
}
