//go:build linux

package launch

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/wire"
)

func TestMissingNamesEachWorkerOnce(t *testing.T) {
	var said bytes.Buffer
	m := &missing{voice: &console.Voice{Out: &said, Quiet: true}, named: map[string]bool{}}
	m.note("w-0", wire.ExitRecord{Code: 7}, nil)
	m.note("w-0", wire.ExitRecord{Code: 127, Signal: 1}, nil)
	m.note("w-0", wire.ExitRecord{Code: 127}, errors.New("the stub is gone"))
	require.Empty(t, said.String())
	m.note("w-0", wire.ExitRecord{Code: 127}, nil)
	m.note("w-0", wire.ExitRecord{Code: 127}, nil)
	m.note("w-1", wire.ExitRecord{Code: 126}, nil)
	m.note("w-2", wire.ExitRecord{Code: 127, Error: "orted: not found in PATH"}, nil)
	require.Equal(t, `agent: worker w-0: a session ended with 127: command not found there
hint: is it in the image of the workers, executable, and in their PATH?
agent: worker w-1: a session ended with 126: the command cannot be run there
agent: worker w-2: a session ended with 127: orted: not found in PATH
`, said.String())

	said.Reset()
	m = &missing{voice: &console.Voice{Out: &said, Quiet: true}, named: map[string]bool{}}
	m.note("w-0", wire.ExitRecord{Code: 126, Error: "start /bin/sh: resource temporarily unavailable"}, nil)
	require.Equal(t, `agent: worker w-0: a session ended with 126: start /bin/sh: resource temporarily unavailable
hint: raise the limit of processes: ulimit -u, or pids.max of the container
`, said.String())
}
