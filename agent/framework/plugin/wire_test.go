package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/framework/contract"
)

var update = flag.Bool("update", false, "rewrite testdata, which changes the protocol")

type fixed struct {
	launch framework.Launch
	err    error
	saw    *framework.Cluster
}

func (f fixed) Prepare(c framework.Cluster) (framework.Launch, error) {
	if f.saw != nil {
		*f.saw = c
	}
	return f.launch, f.err
}

func exampleLaunch() framework.Launch {
	return framework.Launch{
		Processes: []framework.Process{{Worker: 1, Rank: 0, Role: "chief", Argv: []string{"python3", "train.py"}, Part: framework.Decides, After: "198.18.0.10:29500",
			Env: []framework.Var{{Name: "RANK", Value: "0", Why: "this process", Or: []string{"MY_RANK"}}}}},
		Files:    []framework.File{{Name: "a.py", Data: []byte("pass\n")}},
		Warnings: []string{"one word"},
	}
}

func exampleCluster() framework.Cluster {
	return framework.Cluster{
		Job: "pi", Namespace: "lab", RunDir: "/run/muster", Launcher: framework.Node{Name: "pi-launcher", IP: "198.18.1.1"},
		Workers: []framework.Node{
			{Name: "pi-worker-0", Host: "198.18.0.10", IP: "198.18.0.10", Slots: 8, Role: "chief", Interface: "eth0"},
			{Name: "pi-worker-1", Host: "198.18.0.11", IP: "198.18.0.11", Slots: 8, Index: 1, Role: "worker", Interface: "eth0", GPUs: 8},
		},
		UserEnv: []string{"PATH=/usr/bin:/bin"}, Command: []string{"python3", "train.py"}, Procs: 2, Port: 29500,
	}
}

// TestWire checks the bytes of the protocol, because plugins that are never built again read them.
func TestWire(t *testing.T) {
	c := exampleCluster()
	question, err := ask(c)
	require.NoError(t, err)
	var saw framework.Cluster
	text, err := reply(fixed{launch: exampleLaunch(), saw: &saw}, question)
	require.NoError(t, err)
	require.Equal(t, c, saw, "the cluster changed on the way")
	got, err := read(text, c)
	require.NoError(t, err)
	require.Equal(t, exampleLaunch(), got, "the launch changed on the way")
	example(t, "question.json", question, new(framework.Cluster), &c)
	launch := exampleLaunch()
	example(t, "answer.json", text, new(answer), &answer{Launch: &launch})
}

// example requires that the example file still has the same meaning. Fields may be added, but not
// removed or renamed.
func example(t *testing.T, name string, text []byte, into, want any) {
	path := filepath.Join("testdata", name)
	if *update {
		var pretty bytes.Buffer
		require.NoError(t, json.Indent(&pretty, text, "", "  "))
		pretty.WriteByte('\n')
		require.NoError(t, os.WriteFile(path, pretty.Bytes(), 0o644))
	}
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(into))
	require.Equal(t, want, into)
}

// TestUnknownFieldsAreIgnored checks that a launcher of today understands an answer with fields of
// the future.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	c := contract.Cluster(1, 1, nil)
	l, err := read([]byte(`{"Launch":{"Processes":[{"Worker":0,"Rank":0,"New":1}],"Newer":{}},"Newest":[]}`), c)
	require.NoError(t, err)
	require.Len(t, l.Processes, 1)
}

func TestSecretsStay(t *testing.T) {
	c := contract.Cluster(1, 1, []string{"true"})
	c.UserEnv = []string{"PATH=/bin", "HF_TOKEN=hush", "DB_PASSWORD=hush", "AWS_SECRET_ACCESS_KEY=hush", "PWD=/w", "BAD=\xff"}
	before := append([]string(nil), c.UserEnv...)
	question, err := ask(c)
	require.NoError(t, err)
	require.NotContains(t, string(question), "hush")
	require.Equal(t, before, c.UserEnv)
	var saw framework.Cluster
	_, err = reply(fixed{saw: &saw}, question)
	require.NoError(t, err)
	require.Equal(t, []string{"PATH=/bin", "PWD=/w"}, saw.UserEnv)

	c.Command = []string{"x\xff"}
	_, err = ask(c)
	require.EqualError(t, err, `the word "x\xff" of the command is not UTF-8`)
}

func TestAnswers(t *testing.T) {
	c := contract.Cluster(1, 1, nil)
	for text, want := range map[string]string{
		``:                             "its answer cannot be read: unexpected end of JSON input",
		`{"Launch":{}} x`:              "its answer cannot be read: invalid character 'x' after top-level value",
		`{"Launch":1}`:                 "its answer cannot be read: json: cannot unmarshal number into Go struct field answer.Launch of type framework.Launch",
		`{}`:                           "its answer is empty",
		`{"Error":"a\nb"}`:             "a b",
		`{"Launch":{"Warnings":[""]}}`: `its answer is wrong: warning "" is empty or has control characters`,
	} {
		l, err := read([]byte(text), c)
		require.EqualError(t, err, want, text)
		require.Zero(t, l)
	}
	text, err := reply(fixed{err: errors.New("")}, []byte("{}"))
	require.NoError(t, err)
	_, err = read(text, c)
	require.EqualError(t, err, "an error without a message")
	_, err = reply(fixed{}, []byte("?"))
	require.ErrorContains(t, err, "decode cluster")
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"Launch":{"Processes":[{"Worker":0,"Rank":0}]}}`))
	f.Add([]byte(`{"Error":"x"}`))
	c := contract.Cluster(2, 2, nil)
	f.Fuzz(func(t *testing.T, text []byte) {
		if l, err := read(text, c); err == nil {
			require.NoError(t, framework.Validate(l, c))
		} else {
			require.Zero(t, l)
		}
	})
}
