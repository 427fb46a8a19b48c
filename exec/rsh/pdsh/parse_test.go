package pdsh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/rsh"
)

func none(string) string { return "" }

func parse(t *testing.T, words ...string) Job {
	t.Helper()
	j, err := Parse(words, none, strings.NewReader(""))
	require.NoError(t, err)
	return j
}

func lines(j Job) (all []string) {
	for i := range j.Hosts {
		line, _ := j.Line(i)
		all = append(all, line)
	}
	return all
}

// TestParseDeepSpeedCall checks the call in DeepSpeed's multinode_runner.py.
func TestParseDeepSpeedCall(t *testing.T) {
	j := parse(t, "-S", "-f", "1024", "-w", "worker-0,worker-1", "export PYTHONPATH=/a b;", "cd", "/x;", "/usr/bin/python3",
		"-u", "-m", "deepspeed.launcher.launch", "--world_info=eyJ9", "--node_rank=%n", "train.py", "-f", "%h")
	require.True(t, j.Largest)
	require.Equal(t, 1024, j.FanOut)
	require.Equal(t, []string{
		"export PYTHONPATH=/a b; cd /x; /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJ9 --node_rank=0 train.py -f worker-0",
		"export PYTHONPATH=/a b; cd /x; /usr/bin/python3 -u -m deepspeed.launcher.launch --world_info=eyJ9 --node_rank=1 train.py -f worker-1",
	}, lines(j))
}

// TestHosts checks the observed behavior of pdsh 2.34.
func TestHosts(t *testing.T) {
	for words, want := range map[string]string{
		"-w w-[0-3],x9 -x w-1":          "w-0 w-2 w-3 x9",
		"-w w-[08-10]":                  "w-08 w-09 w-10",
		"-w n[1-3,7]x":                  "n1x n2x n3x n7x",
		"-w a[1-2]b[1-2]":               "a1b1 a1b2 a2b1 a2b2",
		"-w [1-2]":                      "1 2",
		"-w w1 -w w0":                   "w1 w0",
		"-w w1,w1,w2":                   "w1 w1 w2",
		"-ww1 -Nbdi -xw0":               "w1",
		"-w w[1-3] -w -w2":              "w1 w3",
		"-w w[1-3],-w2":                 "w1 w3",
		"-w ,w1,,w2,":                   "w1 w2",
		"-w user@h1 -w ssh:h2":          "h1 h2",
		"-w fd00::2":                    "fd00::2",
		"-w [fd00::2]":                  "fd00::2",
		"-w 127.0.0.[2-3]":              "127.0.0.2 127.0.0.3",
		"-w w[1-3] -x w[1-2]":           "w3",
		"-R ssh -t 5 -M misc -d -w w1":  "w1",
		"-f 1 -u 10 -l bob -w w1 -x w2": "w1",
		"-w w[9-11]":                    "w9 w10 w11",
	} {
		require.Equal(t, strings.Fields(want), parse(t, append(strings.Fields(words), "true")...).Hosts, words)
	}
}

func TestHostsOfFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(file, []byte("w9\n# none\n\nw[7-8] # and not w1\nw5 w6\n"), 0o600))
	want := []string{"w9", "w7", "w8", "w5", "w6"}
	require.Equal(t, want, parse(t, "-w", "^"+file, "true").Hosts)
	require.Equal(t, []string{"w1"}, parse(t, "-w", "w[1,5-9]", "-x", "^"+file, "true").Hosts)
	j, err := Parse([]string{"-w", "-", "true"}, none, strings.NewReader("w1\nw2,w3\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"w1", "w2", "w3"}, j.Hosts)
	j, err = Parse([]string{"true"}, func(name string) string {
		return map[string]string{"WCOLL": file, "FANOUT": "3", "PDSH_RCMD_TYPE": "rsh"}[name]
	}, nil)
	require.NoError(t, err)
	require.Equal(t, want, j.Hosts)
	require.Equal(t, 3, j.FanOut)
}

func TestEverywhere(t *testing.T) {
	j := parse(t, "-a", "-x", "w1", "echo", "%n")
	require.True(t, j.Everywhere)
	require.NoError(t, j.Add([]string{"w0", "w1", "w2"}))
	require.Equal(t, []string{"w0", "w2"}, j.Hosts)
	require.Equal(t, []string{"echo 0", "echo 1"}, lines(j))
	j = parse(t, "-a", "-x", "w1", "true")
	require.ErrorContains(t, j.Add([]string{"w1"}), "no remote hosts")
}

func TestLine(t *testing.T) {
	for command, want := range map[string]string{
		"%h %n %u":    "b 1 root",
		"%% %%h %x %": "% %h %x %",
		"100%":        "100%",
		"printf %s":   "printf %s",
	} {
		line, user := new(Job), ""
		*line = parse(t, "-w", "a,b", command)
		got, user := line.Line(1)
		require.Equal(t, want, got)
		require.Equal(t, "root", user)
	}
	j := parse(t, "-l", "bob", "-w", "a,eve@b", "%u")
	require.Equal(t, []string{"bob", "eve"}, lines(j))
}

func TestParseRefuses(t *testing.T) {
	for words, want := range map[string]string{
		"":                     "no remote hosts specified",
		"true":                 "no remote hosts specified",
		"ls -w w1":             "no remote hosts specified",
		"-w w1 -x w1 true":     "no remote hosts specified",
		"-w w1":                "no command given",
		"-w":                   "option -w needs a value",
		"-w w[1-3 true":        "missing closing bracket",
		"-w w[3-1] true":       `"3-1" is not a range`,
		"-w w[a] true":         `"a" is not a range`,
		"-w w[] true":          `"" is not a range`,
		"-w w[1-99999999] a":   "is not a range",
		"-w a[1-999]b[1-99] a": "too many hosts",
		"-w /w/ true":          "patterns are not supported",
		"-g all true":          "is not supported: there are no genders",
		"-Z -w w1 true":        "unknown option -Z",
		"-f 0 -w w1 true":      "-f 0: want a number",
		"-f x -w w1 true":      "-f x: want a number",
		"-u -1 -w w1 true":     "-u -1: want a number",
		"-R exec -w w1 true":   "runs commands on this machine",
		"-w ^/no/such true":    "no such file",
	} {
		_, err := Parse(strings.Fields(words), none, strings.NewReader(""))
		require.ErrorContains(t, err, want, words)
	}
	_, err := Parse([]string{"-h"}, none, nil)
	require.ErrorIs(t, err, ErrHelp)
	_, err = Parse([]string{"-V"}, none, nil)
	require.ErrorIs(t, err, rsh.ErrVersion)
	require.Equal(t, 7*time.Second, parse(t, "-u7", "-w", "w", "true").Timeout)
}

func TestLabels(t *testing.T) {
	for hosts, want := range map[string]string{
		"10.0.0.1 10.0.0.2":     "10.0.0.1 10.0.0.2",
		"a.b.c e":               "a e",
		"a.b.c d.b.c":           "a d",
		"a.b.c e.b.d":           "a.b.c e.b.d",
		"1a.b.c e":              "1a.b.c e",
		"a.b.c 10.0.0.1 fd00::": "a 10.0.0.1 fd00::",
	} {
		require.Equal(t, strings.Fields(want), labels(strings.Fields(hosts)), hosts)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-S -f 2 -w w-[0-3],-w-1 -x a echo %n")
	f.Add("-w a[1-2]b[03-4],[fd00::2] %%h")
	f.Fuzz(func(t *testing.T, line string) {
		if strings.ContainsAny(line, "^") {
			return // Parse would read files
		}
		j, err := Parse(strings.Split(line, " "), none, strings.NewReader("w1 w2"))
		if err != nil {
			return
		}
		require.True(t, j.Everywhere || len(j.Hosts) > 0)
		require.LessOrEqual(t, len(j.Hosts), 2*maxHosts)
		require.GreaterOrEqual(t, j.FanOut, 1)
		require.Len(t, labels(j.Hosts), len(j.Hosts))
	})
}
