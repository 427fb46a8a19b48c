package hostfile

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want []Host
	}{
		"open mpi":              {"a slots=2\nb slots=3\n", []Host{{"a", 2}, {"b", 3}}},
		"hydra":                 {"10.0.0.1:2\n10.0.0.2:8", []Host{{"10.0.0.1", 2}, {"10.0.0.2", 8}}},
		"mixed":                 {"a:2\nb slots=3", []Host{{"a", 2}, {"b", 3}}},
		"no number":             {"a\nb\n", []Host{{"a", 1}, {"b", 1}}},
		"comments, blank lines": {"# list\n\n \t\na slots=2 # two\r\n#b\n", []Host{{"a", 2}}},
		"order, duplicates":     {"b\na\nb\n", []Host{{"b", 1}, {"a", 1}, {"b", 1}}},
		"user and fqdn":         {"me@w-0.job.ns.svc slots=4", []Host{{"me@w-0.job.ns.svc", 4}}},
		"max slots dropped":     {"a slots=2 max_slots=4\nb max-slots=9", []Host{{"a", 2}, {"b", 1}}},
		"ipv6":                  {"fd00::2 slots=2\n[fd00::3]:4\n[fd00::4]\n::1", []Host{{"fd00::2", 2}, {"fd00::3", 4}, {"fd00::4", 1}, {"::1", 1}}},
		"empty":                 {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(strings.NewReader(tc.in))
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]string{
		"a slots=2\nb slots=x": `line 2: slots: "x" is not a number of slots`,
		"a slots=0":            `"0" is not a number`,
		"a slots=-1":           `"-1" is not a number`,
		"a slots=+1":           `"+1" is not a number`,
		"a slots=":             `"" is not a number`,
		"a slots=9999999999":   "is not a number",
		"a:":                   `"" is not a number`,
		"a:b":                  `"b" is not a number`,
		":3":                   "is not a host name",
		"slots=3":              "is not a host name",
		"a b":                  `want slots=N after host a, not "b"`,
		"a slots = 2":          `want slots=N after host a, not "slots"`,
		"a cpus=2":             `unknown key "cpus" after host a: want slots=N`,
		"a:2 slots=2":          "host a has two numbers of slots",
		"a slots=2 slots=2":    "host a has two numbers of slots",
		"a:2:3":                "is not name:N or an IPv6 address",
		"[fd00::1":             "lacks the closing bracket",
		"[fd00::1]x":           "lacks the closing bracket",
		"[a]:2":                `"a" is not an IPv6 address`,
		"a]":                   "is not a host name",
	} {
		t.Run(in, func(t *testing.T) {
			hosts, err := Parse(strings.NewReader(in))
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "parse hostfile: line ")
			require.Nil(t, hosts)
		})
	}
}

func TestParsePassesReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	_, err := Parse(iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
	_, err = Parse(strings.NewReader(strings.Repeat("a", 1<<20)))
	require.ErrorContains(t, err, "parse hostfile: ")
}

// FuzzParse checks that a rendered list reads back as the same list, in either dialect.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"a slots=2\nb:3 # x\n", "[fd00::1]:2\n::1\n", "u@h max_slots=2\r\n", ":", "[", "a=b", "[::]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		hosts, err := Parse(bytes.NewReader(in))
		if err != nil {
			require.Nil(t, hosts)
			return
		}
		for _, render := range []func([]Host) []byte{OpenMPI, Hydra} {
			again, err := Parse(bytes.NewReader(render(hosts)))
			require.NoError(t, err)
			require.Equal(t, hosts, again)
		}
	})
}

func TestRender(t *testing.T) {
	hosts := []Host{{"10.0.0.1", 2}, {"w-1", 16}, {"fd00::2", 1}}
	require.Equal(t, "10.0.0.1 slots=2\nw-1 slots=16\nfd00::2 slots=1\n", string(OpenMPI(hosts)))
	require.Equal(t, "10.0.0.1:2\nw-1:16\n[fd00::2]:1\n", string(Hydra(hosts)))
	require.Empty(t, OpenMPI(nil))
	require.Empty(t, Hydra(nil))
}
