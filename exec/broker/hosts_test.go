package broker

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostsByEveryName(t *testing.T) {
	h := &Hosts{}
	h.Add(Target{Name: "pi-worker-0"}, "ij-0", "10.0.0.1", "")
	h.Add(Target{Name: "pi-worker-1"}, "10.0.0.2", "FD00:0::2", "pi-worker-1")
	h.Add(Target{Name: "pi-worker-10"}, "127.0.0.2", "pi-worker-10.pi.ns.svc.cluster.local")
	for host, want := range map[string]string{
		"pi-worker-0":                       "pi-worker-0",
		"PI-Worker-0":                       "pi-worker-0",
		"ij-0":                              "pi-worker-0",
		"ij-0.pi.ns.svc":                    "pi-worker-0",
		"pi-worker-0.":                      "pi-worker-0",
		"10.0.0.1":                          "pi-worker-0",
		"::ffff:10.0.0.1":                   "pi-worker-0",
		"fd00::2":                           "pi-worker-1",
		"fd00:0:0::0002":                    "pi-worker-1",
		"pi-worker-1.pi.ns.svc.other.local": "pi-worker-1",
		"pi-worker-10.pi":                   "pi-worker-10",
		"127.0.0.2":                         "pi-worker-10",
	} {
		got, err := h.Resolve(host)
		require.NoError(t, err, host)
		require.Equal(t, want, got.Name, host)
	}
	for _, host := range []string{"", "pi-worker", "pi-worker-2", "10.0.0.3", "10", "10.0.0.1.example"} {
		_, err := h.Resolve(host)
		var unknown *UnknownHostError
		require.ErrorAs(t, err, &unknown, host)
		require.Equal(t, h.List(), unknown.Known)
	}
	require.Equal(t, []string{"pi-worker-0", "pi-worker-1", "pi-worker-10"}, h.List())
}

func TestReplacedWorkerLosesItsOldNames(t *testing.T) {
	h := &Hosts{}
	h.Add(Target{Name: "w-0"}, "10.0.0.1")
	h.Add(Target{Name: "w-1"}, "10.0.0.2")
	fresh := scriptedTarget{}
	h.Add(Target{Name: "w-0", Opener: fresh}, "10.0.0.9")
	got, err := h.Resolve("10.0.0.9")
	require.NoError(t, err)
	require.Equal(t, Target{Name: "w-0", Opener: fresh}, got)
	_, err = h.Resolve("10.0.0.1")
	require.Error(t, err)
	require.Equal(t, []string{"w-0", "w-1"}, h.List())
}

type scriptedTarget struct{ Opener }

func TestNameOfSeveralWorkersIsRefused(t *testing.T) {
	h := &Hosts{}
	h.Add(Target{Name: "w-0"}, "10.0.0.1")
	h.Add(Target{Name: "w-1"}, "10.0.0.1") // pods with the host network of one node
	_, err := h.Resolve("10.0.0.1")
	require.EqualError(t, err, `host "10.0.0.1" stands for several workers: w-0, w-1; use their pod names`)
	_, err = h.Resolve("w-1")
	require.NoError(t, err)
}

func TestUnknownHostListsTenAndCounts(t *testing.T) {
	h := &Hosts{}
	_, err := h.Resolve("x")
	require.EqualError(t, err, `unknown host "x": no workers yet`)
	for i := range 12 {
		h.Add(Target{Name: fmt.Sprintf("w-%d", i)})
	}
	_, err = h.Resolve("x")
	require.EqualError(t, err, `unknown host "x": the workers are w-0, w-1, w-2, w-3, w-4, w-5, w-6, w-7, w-8, w-9 and 2 more`)
}
