package hosts

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
)

// TestEveryFrameworkHasACase checks that every name that --framework accepts has a case.
func TestEveryFrameworkHasACase(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Cases() {
		require.False(t, names[c.Name], "two cases are %s", c.Name)
		names[c.Name], names["of "+c.Framework] = true, true
	}
	for _, name := range framework.Names() {
		require.True(t, name == framework.Auto || names["of "+name], name)
	}
}

var three = []string{"j-worker-0", "j-worker-1", "j-worker-2"}

func said(c Case, worker string, env map[string]string, argv ...string) Seen {
	return Seen{Case: c.Name, Worker: worker, Argv: append([]string{"seen.py"}, argv...), Env: env,
		Files: map[string]string{"/etc/mpi/hostfile": "10.0.0.1 slots=1\n10.0.0.2 slots=2\n", "/etc/mpi/hydra": "10.0.0.1:1\n10.0.0.2:2\n"}}
}

func TestFind(t *testing.T) {
	at := func(port int, hosts ...string) (list []string) {
		for _, h := range hosts {
			list = append(list, fmt.Sprintf("%s:%d", h, port))
		}
		return list
	}
	meet := fmt.Sprint(Port)
	for name, row := range map[string]struct {
		want  Want
		env   map[string]string
		argv  []string
		found []string
		wrong string
	}{
		"an address and its port":    {want: Want{Name: "A", Port: "P"}, env: map[string]string{"A": "10.0.0.1", "P": meet}, found: at(Port, "10.0.0.1")},
		"a name without a port":      {want: Want{Name: "A"}, env: map[string]string{"A": "head"}, found: at(Answer, "head")},
		"a list":                     {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1:18100,[fd00::1]:18101"}, found: []string{"10.0.0.1:18100", "[fd00::1]:18101"}},
		"a bare IPv6 address":        {want: Want{Name: "A"}, env: map[string]string{"A": "fd00::1"}, found: []string{fmt.Sprintf("[fd00::1]:%d", Answer)}},
		"a URL":                      {want: Want{Name: "A"}, env: map[string]string{"A": "tcp://10.0.0.1:18000"}, found: at(Port, "10.0.0.1")},
		"Open MPI's hostfile":        {want: Want{Name: "A"}, env: map[string]string{"A": "/etc/mpi/hostfile"}, found: at(Answer, "10.0.0.1", "10.0.0.2")},
		"Hydra's":                    {want: Want{Name: "A", Slots: true}, env: map[string]string{"A": "/etc/mpi/hydra"}, found: at(Answer, "10.0.0.1", "10.0.0.2")},
		"TF_CONFIG":                  {want: Want{Name: "A"}, env: map[string]string{"A": `{"cluster":{"chief":["a:18100"],"worker":["b:18101"]},"task":{"type":"chief","index":0}}`}, found: []string{"a:18100", "b:18101"}},
		"TF_CONFIG, sparse":          {want: Want{Name: "A"}, env: map[string]string{"A": `{"cluster":{"ps":["a:18100"],"worker":{"1":"b:18101"}},"task":{}}`}, found: []string{"a:18100", "b:18101"}},
		"an option":                  {want: Want{Name: "-H", Slots: true}, argv: []string{"-np", "2", "-H", "10.0.0.1:1,10.0.0.2:1"}, found: at(Answer, "10.0.0.1", "10.0.0.2")},
		"an option and its value":    {want: Want{Name: "--address"}, argv: []string{"--address=10.0.0.1:18000"}, found: at(Port, "10.0.0.1")},
		"a missing variable":         {want: Want{Name: "A"}, wrong: "no host in it"},
		"an empty variable":          {want: Want{Name: "A"}, env: map[string]string{"A": ","}, wrong: "no host in it"},
		"a missing port":             {want: Want{Name: "A", Port: "P"}, env: map[string]string{"A": "10.0.0.1"}, wrong: "no P"},
		"a port of another run":      {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1:29500"}, wrong: "no host with a port of this run"},
		"a missing file":             {want: Want{Name: "A"}, env: map[string]string{"A": "/no/such"}, wrong: "no such file"},
		"TF_CONFIG without JSON":     {want: Want{Name: "A"}, env: map[string]string{"A": "{"}, wrong: "unexpected end"},
		"an unlisted address":        {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "B": "x 10.0.0.2"}, wrong: "not listed"},
		"an unlisted name":           {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "B": "head:6379"}, wrong: "not listed"},
		"an unlisted Service":        {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "B": "j-master-0.ns.svc"}, wrong: "not listed"},
		"an unlisted worker":         {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "B": "=j-worker-2="}, wrong: "not listed"},
		"an unlisted localhost":      {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "B": "localhost"}, wrong: "not listed"},
		"an argument with a host":    {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1"}, argv: []string{"--head=10.0.0.2"}, wrong: "not listed"},
		"numbers, paths, interfaces": {want: Want{Name: "A"}, env: map[string]string{"A": "10.0.0.1", "N": "18000", "I": "eth0", "F": "/a/10.0.0.2", "V": "1:3", "W": "10.0.0.0/8"}, found: at(Answer, "10.0.0.1")},
	} {
		t.Run(name, func(t *testing.T) {
			row.want.Who = own
			c := Case{Name: "x", Processes: 1, Wants: []Want{row.want}}
			found, err := c.Find([]Seen{said(c, three[1], row.env, row.argv...)}, three)
			if row.wrong != "" {
				require.ErrorContains(t, err, row.wrong)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []Found{{Case: "x", Process: "seen.py on j-worker-1", Name: row.want.Name, Endpoints: row.found, Workers: three[1:2]}}, found)
		})
	}
	c := Case{Name: "x", Processes: 1}
	_, err := c.Find([]Seen{said(c, "", nil)}, three)
	require.ErrorContains(t, err, "a process on worker")
}

func TestJudge(t *testing.T) {
	found := []Found{{Case: "x", Process: "seen.py on a", Name: "LIST", Endpoints: []string{"10.0.0.1:1", "10.0.0.2:1"}, Workers: []string{"a", "b"}}}
	for name, row := range map[string]struct {
		answers map[string]string
		wrong   []string
	}{
		"all well":             {map[string]string{"10.0.0.1:1": "a", "10.0.0.2:1": "b"}, nil},
		"one does not answer":  {map[string]string{"10.0.0.1:1": "a", "10.0.0.2:1": "error: refused"}, []string{"refused", "b is not in it"}},
		"nothing was dialed":   {nil, []string{`""`, `""`, "a is not", "b is not"}},
		"one is the launcher":  {map[string]string{"10.0.0.1:1": "a", "10.0.0.2:1": "j-launcher"}, []string{"is j-launcher, seen from a, and a or b is meant", "b is not in it"}},
		"both are one and the": {map[string]string{"10.0.0.1:1": "a", "10.0.0.2:1": "a"}, []string{"b is not in it"}},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := Judge(found, "a", row.answers)
			require.Len(t, wrong, len(row.wrong), "%q", wrong)
			for i, want := range row.wrong {
				require.Contains(t, wrong[i], want)
			}
		})
	}
	require.Equal(t, []string{"10.0.0.1:1", "10.0.0.2:1"}, Endpoints(slices.Concat(found, found)))
}

// TestRead checks that a process that printed nothing is reported.
func TestRead(t *testing.T) {
	c := Case{Name: "x", Processes: 2}
	text, err := json.Marshal(map[string]any{"case": "x", "worker": "a", "argv": []string{"seen.py"}, "env": map[string]string{"A": "b"}})
	require.NoError(t, err)
	line := "agent: 3/3 ready\nseen " + string(text) + "\nseen {\"case\": \"y\"}\n"
	all, err := c.Read(line + line)
	require.NoError(t, err)
	require.Equal(t, Seen{Case: "x", Worker: "a", Argv: []string{"seen.py"}, Env: map[string]string{"A": "b"}}, all[1])
	_, err = c.Read(line)
	require.ErrorContains(t, err, "1 of 2 processes")
	_, err = c.Read("seen {\"case\n")
	require.Error(t, err)
}
