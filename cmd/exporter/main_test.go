package main

import (
	"bytes"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/names"
)

const started = `{"time":"2026-03-01T12:00:00Z","kind":"run-started","count":2}` + "\n"

// start calls run and returns what it prints.
func start(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(args, func(string) string { return "" }, strings.NewReader(started), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

func TestItEndsWithItsInput(t *testing.T) {
	code, out, complaints := start(t, "--metrics-addr=127.0.0.1:0")
	require.Zero(t, code)
	require.Empty(t, out+complaints)
	code, out, complaints = start(t)
	require.Zero(t, code)
	require.Empty(t, out+complaints)
}

// TestAddressInUse checks that the launcher can read the problem and its hint, and that the program stays:
// its other sinks work.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	code, _, complaints := start(t, "--metrics-addr="+taken.Addr().String())
	require.Zero(t, code)
	require.Equal(t, "agent-exporter: serve metrics at "+taken.Addr().String()+": listen tcp "+taken.Addr().String()+": bind: address already in use\n"+
		"hint: choose another --metrics-addr; this run has no metrics\n", complaints)
}

func TestUsage(t *testing.T) {
	code, _, complaints := start(t, "--frobnicate")
	require.Equal(t, names.ExitUsage, code)
	require.Contains(t, complaints, "-metrics-addr ADDRESS")
	code, out, _ := start(t, "--version")
	require.Zero(t, code)
	require.NotEmpty(t, out)
}
