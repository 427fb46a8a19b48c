//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOthers checks that bound pods of another job are counted while the first job has all of its pods.
func TestOthers(t *testing.T) {
	at := func(a, ended, b int) sample {
		return sample{Jobs: map[string]seen{"a": {Bound: a, Ended: ended}, "b": {Bound: b}}}
	}
	for name, tc := range map[string]struct {
		list  []sample
		first string
		bound []float64
	}{
		"nothing":         {nil, "", nil},
		"none has a node": {[]sample{at(0, 0, 0)}, "", nil},
		"one after the other": {[]sample{at(0, 0, 0), at(3, 0, 0), at(5, 0, 0), at(5, 1, 0), at(5, 5, 5)}, "a",
			[]float64{0, 0}},
		"both at once": {[]sample{at(3, 0, 0), at(3, 0, 2)}, "a", []float64{0, 2}},
		"the second":   {[]sample{at(0, 0, 5)}, "b", nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.first, firstBound(tc.list))
			require.Equal(t, tc.bound, others(tc.list, "a"))
		})
	}
}
