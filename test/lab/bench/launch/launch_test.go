//go:build linux

package main

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/test/suite/audit"
	"github.com/musterhq/muster/test/suite/figure"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"-workers", "2,20", "-ready", "", "-only", "muster,exec"})
	require.NoError(t, err)
	require.Equal(t, options{sizes: []int{2, 20}, rounds: 4, only: []string{"muster", "exec"}}, o)
	require.True(t, o.takes("exec"))
	require.False(t, o.takes("ssh"))
	_, err = parse([]string{"-workers", "0"})
	require.ErrorContains(t, err, `"0"`)
	_, err = parse([]string{"-only", "rsh"})
	require.ErrorContains(t, err, `no contender "rsh"`)
}

// TestScripts checks that each script contains the number of workers once, and ends with hold.
func TestScripts(t *testing.T) {
	for _, c := range contenders() {
		line := c.line(17)
		require.Equal(t, 1, strings.Count(line, "17"), line)
		require.NotContains(t, line, "%!")
		require.NotContains(t, line, "%d")
		require.True(t, strings.HasSuffix(line, hold) || strings.Contains(line, `"$HOLD" > /bench/mpirun`), line)
		require.NotEmpty(t, titles[c.name])
	}
}

// TestTurns checks that no contender always comes after the same one.
func TestTurns(t *testing.T) {
	even, odd := turns(0), turns(1)
	require.Len(t, odd, len(even))
	for i, c := range even {
		require.Equal(t, c.name, odd[len(odd)-1-i].name)
	}
}

func TestCgroups(t *testing.T) {
	dirs, usage := cgroups("4:memory:/k8s.io/ab\n2:cpu,cpuacct:/k8s.io/ab\n9:name=systemd:/k8s.io/ab\n0::/k8s.io/ab\n", false)
	require.Equal(t, []string{"/sys/fs/cgroup/memory/k8s.io/ab", "/sys/fs/cgroup/cpu/k8s.io/ab", "/sys/fs/cgroup/systemd/k8s.io/ab"}, dirs)
	require.Equal(t, "/sys/fs/cgroup/cpu/k8s.io/ab/cpuacct.usage", usage)
	dirs, usage = cgroups("0::/k8s.io/ab\n", true)
	require.Equal(t, []string{"/sys/fs/cgroup/k8s.io/ab"}, dirs)
	require.Equal(t, "/sys/fs/cgroup/k8s.io/ab/cpu.stat", usage)
}

func TestCPUSeconds(t *testing.T) {
	for text, want := range map[string]float64{"2500000000\n": 2.5, "usage_usec 1500000\nuser_usec 1\n": 1.5} {
		got, err := cpuSeconds(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := cpuSeconds("")
	require.ErrorContains(t, err, "read CPU time")
}

func TestFill(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	samples := []sample{{from: at(10), to: at(20)}, {from: at(30), to: at(40)}}
	fill(samples, []audit.Request{
		{User: "me", Received: at(9)}, {User: "me", Received: at(10)}, {User: "me", Received: at(19)}, {User: "me", Received: at(20)},
		{User: "you", Received: at(31)}, {User: "me", Received: at(32)},
	}, "me", 2)
	require.Equal(t, []float64{1, 0.5}, []float64{samples[0].Requests, samples[1].Requests})
}

// TestAuthorized checks the public key by its first bytes, which are the same for all P-521 keys.
func TestAuthorized(t *testing.T) {
	secret, err := sshKeys()
	require.NoError(t, err)
	words := strings.Fields(string(secret.Data["authorized_keys"]))
	require.Len(t, words, 2)
	require.True(t, strings.HasPrefix(words[1], "AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFB"), words[1])
	blob, err := base64.StdEncoding.DecodeString(words[1])
	require.NoError(t, err)
	require.Len(t, blob, 4+19+4+8+4+133)
}

// TestRows checks that the warm-up round counts only for the peak of memory.
func TestRows(t *testing.T) {
	all := results{60: {
		"muster":  {{Last: 9, CPU: 9, Peak: 30}, {Last: 1, CPU: 1}, {Last: 3, CPU: 1}, {Last: 2, CPU: 2}},
		"kubexec": {{Last: 99, Peak: 900}, {Last: 8, CPU: 10}, {Last: 4, CPU: 10}, {Last: 8, CPU: 10}},
	}}
	list := rows(all, 1, timed, never)
	require.Len(t, list, 2)
	require.Equal(t, "kubexec.sh", list[0].Name)
	require.Equal(t, [][]float64{{1, 3, 2}, {}}, list[1].Cells)

	r := raw{series: map[string]figure.Series{}}
	r.over(all, 1, "launch", "kubexec", 0.5, func(s sample) float64 { return s.Last })
	r.over(all, 1, "launch", "ssh", 0.5, func(s sample) float64 { return s.Last })
	require.Len(t, r.rows, 1, "ssh has not run")
	value, err := r.series[r.rows[0].Name].Value()
	require.NoError(t, err)
	require.InDelta(t, 0.25, value, 1e-9, "the median of 1/8, 3/4 and 2/8")
}
