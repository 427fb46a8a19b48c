package framework

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSharedCores(t *testing.T) {
	for name, tc := range map[string]struct {
		places []Place
		want   bool
	}{
		"none":                         {nil, false},
		"one worker":                   {[]Place{{Node: "a", CPUSet: "0-3"}}, false},
		"two nodes":                    {[]Place{{Node: "a", CPUSet: "0-3"}, {Node: "b", CPUSet: "0-3"}}, false},
		"one node, all CPUs twice":     {[]Place{{Node: "a", CPUSet: "0-3"}, {Node: "a", CPUSet: "0-3"}}, true},
		"one node, exclusive sets":     {[]Place{{Node: "a", CPUSet: "0-1,8"}, {Node: "a", CPUSet: "2-7,9-15"}}, false},
		"sets that touch":              {[]Place{{Node: "a", CPUSet: "0-2"}, {Node: "a", CPUSet: "2,5"}}, true},
		"one set contains the other":   {[]Place{{Node: "a", CPUSet: "3"}, {Node: "a", CPUSet: "0-63"}}, true},
		"third overlaps the first":     {[]Place{{Node: "a", CPUSet: "0-1"}, {Node: "b", CPUSet: "0-1"}, {Node: "a", CPUSet: "1"}}, true},
		"unknown node":                 {[]Place{{CPUSet: "0-3"}, {Node: "a", CPUSet: "0-3"}}, true},
		"unknown node, exclusive sets": {[]Place{{CPUSet: "0-3"}, {Node: "a", CPUSet: "4-7"}}, false},
		"unknown set":                  {[]Place{{Node: "a"}, {Node: "a", CPUSet: "0"}}, true},
		"unknown sets, two nodes":      {[]Place{{Node: "a"}, {Node: "b"}}, false},
		"invalid set":                  {[]Place{{Node: "a", CPUSet: "0-"}, {Node: "a", CPUSet: "7"}}, true},
		"white space":                  {[]Place{{Node: "a", CPUSet: "0-3\n"}, {Node: "a", CPUSet: "4-7\n"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, SharedCores(tc.places))
		})
	}
}

// FuzzSharedCores checks that parsing a CPU list ends, whatever the list contains. A list shares
// cores with itself, and so does a list that cannot be parsed.
func FuzzSharedCores(f *testing.F) {
	for _, seed := range []string{"0-3,8", "", ",", "-", "3-1", "99999999999", "0-2147483647"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, set string) {
		require.True(t, SharedCores([]Place{{Node: "a", CPUSet: set}, {Node: "a", CPUSet: set}}))
	})
}
