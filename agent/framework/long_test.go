package framework

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// manyWorkers returns a cluster of n workers with addresses of 14 or 15 bytes.
func manyWorkers(n int) Cluster {
	c := Cluster{Job: "train", Command: []string{"python3", "train.py"}, Port: 29500, RunDir: "/run/muster"}
	for i := range n {
		at := fmt.Sprintf("10.100.%d.%d", 100+i/250, i%250)
		c.Workers = append(c.Workers, Node{Name: fmt.Sprintf("train-worker-%d", i), Host: at, IP: at, Slots: 8, Index: i})
	}
	return c
}

func TestAddressesOfManyWorkers(t *testing.T) {
	few, err := Plain{}.Prepare(manyWorkers(4000))
	require.NoError(t, err)
	require.Empty(t, few.Warnings)
	require.NoError(t, Startable(few))
	value, ok := find(few.Processes[0].Env, "MUSTER_ADDRESSES")
	require.True(t, ok)
	require.Equal(t, 4000, strings.Count(value, ",")+1)

	many, err := Plain{}.Prepare(manyWorkers(10_000))
	require.NoError(t, err)
	require.Len(t, many.Warnings, 1)
	require.Contains(t, many.Warnings[0], "MUSTER_ADDRESSES is not set: ")
	require.NoError(t, Startable(many))
	_, ok = find(many.Processes[0].Env, "MUSTER_ADDRESSES")
	require.False(t, ok)

	tasks, err := TensorFlow{}.tasks(manyWorkers(8000))
	require.NoError(t, err)
	addresses, err := clusterOf(tasks)
	require.NoError(t, err)
	config, err := TensorFlow{}.config(addresses, tasks[0])
	require.NoError(t, err)
	require.ErrorContains(t, Startable(Launch{Processes: []Process{{Env: []Var{{Name: "TF_CONFIG", Value: config}}}}}), "TF_CONFIG would have ")
}

// TestLongestVariable compares the limit with the kernel's.
func TestLongestVariable(t *testing.T) {
	with := func(n int) (Launch, error) {
		v := Var{Name: "LONG", Value: strings.Repeat("x", n-len("LONG="))}
		cmd := exec.Command("true")
		cmd.Env = []string{v.Name + "=" + v.Value}
		return Launch{Processes: []Process{{Env: []Var{v}}}}, cmd.Run()
	}
	fits, err := with(longestVar)
	require.NoError(t, err)
	require.NoError(t, Startable(fits))
	tooLong, err := with(longestVar + 1)
	require.ErrorIs(t, err, syscall.E2BIG)
	require.ErrorContains(t, Startable(tooLong), "LONG would have 131072 bytes")
}

func find(vars []Var, name string) (string, bool) {
	for _, v := range vars {
		if v.Name == name {
			return v.Value, true
		}
	}
	return "", false
}
