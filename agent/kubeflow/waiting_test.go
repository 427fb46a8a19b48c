package kubeflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWaiting checks that the preparations in a worker's command run before the agent, or that the
// command is rejected. W stands for `agent worker`, and - for no preparations.
func TestWaiting(t *testing.T) {
	for script, want := range map[string]string{
		"/usr/sbin/sshd -De":                                                 "-",
		"exec /usr/sbin/sshd -D -e;":                                         "-",
		"LANG=C sudo /usr/sbin/sshd -D >/dev/null 2>&1":                      "-",
		"sleep infinity":                                                     "-",
		"while true; do sleep 30; done":                                      "-",
		"mkdir -p /run/sshd && ssh-keygen -A && /usr/sbin/sshd -De":          "mkdir -p /run/sshd && ssh-keygen -A && W",
		"cp -r x y; sshd -D":                                                 "cp -r x y; W",
		"cp -r x y\nexec sshd -D\n":                                          "cp -r x y\nW\n",
		"cp -r x y; sleep infinity":                                          "cp -r x y; W",
		"cp -r x y; tail -f /dev/null":                                       "cp -r x y; W",
		"/usr/sbin/sshd && sleep infinity":                                   "true && W",
		"cp x y; sshd -D & wait":                                             "cp x y; true & W",
		"service ssh start; sleep infinity":                                  "service ssh start; W",
		"cp x y && sshd -D || exit 1":                                        "cp x y && W || exit 1",
		"cp x y && sshd -D || sleep infinity":                                "cp x y && W || sleep infinity",
		"echo 'sshd -D; sleep 1' > \"a b\"; sshd -D # as it was":             "echo 'sshd -D; sleep 1' > \"a b\"; W",
		"for i in a b; do cp $i /x; done; (cd /x && ls); sshd -D":            "for i in a b; do cp $i /x; done; (cd /x && ls); W",
		"if [ -d /run/sshd ]; then :; else mkdir /run/sshd; fi\nsshd -D":     "if [ -d /run/sshd ]; then :; else mkdir /run/sshd; fi\nW",
		"case $A in a) cp x y;; (b) cp z y;; esac; sshd -D":                  "case $A in a) cp x y;; (b) cp z y;; esac; W",
		"x=$(hostname -i) y=${x%.*}; echo $((1 + 2)) 2>&1 >&2; exec sshd -D": "x=$(hostname -i) y=${x%.*}; echo $((1 + 2)) 2>&1 >&2; W",
		"cp a\\ b c; \\\n  sshd -D":                                          "cp a\\ b c; W",
		"sshd -D 2>&1 | tee log":                                             "",
		"if true; then sshd -D; fi":                                          "",
		"(sshd -D)":                                                          "",
		"sshd || sleep infinity":                                             "",
		"sshd; ./serve":                                                      "",
		"cat <<EOF >/etc/ssh/sshd_config\nPort 2222\nEOF\nsshd -D":           "",
		"echo \"$(date \"+%s)\")\"; sshd -D":                                 "",
		"echo $(date '+%s'); sshd -D":                                        "",
		"echo \"$(hostname) at $HOME\"; sshd -D":                             "echo \"$(hostname) at $HOME\"; W",
		"f() { cp x y; sleep infinity; }; f":                                 "",
		"cp 'x y; sshd -D":                                                   "",
		"./serve --forever":                                                  "",
		"":                                                                   "",
	} {
		t.Run(script, func(t *testing.T) {
			for _, shell := range [][]string{{"sh", "-c"}, {"/bin/bash", "-e", "-o", "pipefail", "-lc"}, {"tini", "--", "sh", "-c"}} {
				words := append(append([]string{}, shell...), script)
				before, ok := waiting(words)
				require.Equal(t, want != "", ok)
				got := ""
				if before != nil {
					require.Equal(t, shell, before[:len(shell)])
					got = before[len(shell)]
				}
				require.Equal(t, strings.ReplaceAll(strings.TrimPrefix(want, "-"), "W", toWorker), got)
			}
		})
	}
	for line, want := range map[string]bool{
		"/usr/sbin/sshd -De": true, "sudo -E /usr/sbin/sshd -D": true, "tini -- /usr/sbin/sshd": true, "sleep 1d": true, "tail -f /dev/null": true,
		"/entrypoint.sh /usr/sbin/sshd -De": false, "sh /opt/sshd": false, "python train.py": false, "sleep": false,
	} {
		before, ok := waiting(strings.Fields(line))
		require.Equal(t, want, ok, line)
		require.Nil(t, before)
	}
}
