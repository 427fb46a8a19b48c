//go:build linux

package worker

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

func TestLay(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	t.Setenv(names.EnvDir, dir)
	t.Setenv("PYTHONPATH", "/mine")
	request, err := json.Marshal(wire.LayRequest{Files: []wire.LayFile{{Name: "a.py", Data: []byte("\x00x")}}, Ask: []string{"PYTHONPATH", "NOT_SET"}})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Lay(bytes.NewReader(request), &out))
	var answer wire.LayAnswer
	require.NoError(t, json.Unmarshal(out.Bytes(), &answer))
	require.Equal(t, map[string]string{"PYTHONPATH": "/mine"}, answer.Env)
	require.Equal(t, dir, filepath.Dir(answer.Dir))
	info, err := os.Stat(answer.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	got, err := os.ReadFile(filepath.Join(answer.Dir, "a.py"))
	require.NoError(t, err)
	require.Equal(t, "\x00x", string(got))
	require.NoError(t, rundir.Clear(dir))
	require.NoDirExists(t, answer.Dir)

	for text, want := range map[string]string{
		"":                                 "lay files: ",
		`{"files":[{"name":"../x"}]}`:      "not a plain file name",
		`{"files":[{"name":""}]}`:          "not a plain file name",
		`{"files":[{"name":"/etc/x"}]}`:    "not a plain file name",
		`{"files":[{"name":".."}]}`:        "not a plain file name",
		strings.Repeat(" ", wire.MaxLay+1): "more than",
	} {
		out.Reset()
		require.ErrorContains(t, Lay(strings.NewReader(text), &out), want)
		require.Empty(t, out.String())
		left, err := filepath.Glob(filepath.Join(dir, "*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
