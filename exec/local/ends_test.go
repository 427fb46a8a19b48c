package local_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/test/contract"
)

// TestEndsOnFailure checks that, if the launcher asks for that, the end of a failed process is
// reported within a second although a child holds its output. A process that succeeds does not
// affect its children.
func TestEndsOnFailure(t *testing.T) {
	l := linked(t)
	began := time.Now()
	for name, tc := range map[string]struct {
		line string
		code int
		out  string
		// lives is set if a child keeps running for the grace.
		lives bool
	}{
		"killed":          {"echo a; sleep 1000 & kill -KILL $$", 137, "a\n", false},
		"failed":          {"sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo b; exit 3", 3, "b\n", true},
		"saves":           {"sh -c 'sleep 2; echo unheard' & echo b; exit 3", 3, "b\n", true},
		"succeeded":       {"{ sleep 0.3; echo late; } & exit 0", 0, "late\n", false},
		"without a child": {"exit 4", 4, "", false},
		"cannot be run":   {"exec /nosuch", 127, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			opened := time.Now()
			s, err := l.Open(t.Context(), "", wire.Spec{Argv: []string{"/bin/sh", "-c", tc.line}, EndsOnFailure: true}, link.Streams{Stdout: &out})
			require.NoError(t, err)
			limit, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			exit, err := s.Wait(limit)
			require.NoError(t, err)
			require.Equal(t, tc.code, exit.Code)
			require.Empty(t, exit.Reason, "the process ended by itself")
			require.Equal(t, tc.out, out.String())
			require.Equal(t, tc.lives, exit.Detached)
			require.Less(t, time.Since(opened), 4*time.Second)
			at := time.UnixMilli(exit.EndedMillis)
			require.WithinRange(t, at, began.Truncate(time.Millisecond), time.Now())
		})
	}
}

func TestWelcomeHasInterfaces(t *testing.T) {
	l := linked(t)
	require.Eventually(t, func() bool { _, ok := l.Welcome(); return ok }, time.Minute, time.Millisecond)
	welcome, _ := l.Welcome()
	found := false
	for _, i := range welcome.Interfaces {
		for _, a := range i.Addresses {
			found = found || a == "127.0.0.1"
		}
	}
	require.True(t, found, "loopback is missing: %v", welcome.Interfaces)
}

// linked returns a link to a new worker. The link runs until the end of the test.
func linked(t *testing.T) *link.Link {
	t.Helper()
	w := contract.NewWorker(t, nil)
	return linkTo(t, link.Config{Worker: "w", Dialer: local.Dialer{Path: w.Socket}})
}

// linkTo runs a link until the end of the test.
func linkTo(t *testing.T, cfg link.Config) *link.Link {
	t.Helper()
	l := link.New(cfg)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
	})
	return l
}
