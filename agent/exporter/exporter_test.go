package exporter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/event"
)

type sink struct {
	took  []event.Kind
	close func(context.Context) error
}

func (s *sink) Take(e event.Event)              { s.took = append(s.took, e.Kind) }
func (s *sink) Close(ctx context.Context) error { return s.close(ctx) }

func TestEverySinkGetsEveryEventInOrder(t *testing.T) {
	input := `{"time":"2026-03-01T12:00:00Z","kind":"run-started"}` + "\nno event\n\n" + `{"time":"2026-03-01T12:00:01Z","kind":"of-a-newer-release"}` + "\n" + `{"time":"2026-03-01T12:00:02Z","kind":"run-ended"}`
	well := func(context.Context) error { return nil }
	a, b := &sink{close: well}, &sink{close: func(context.Context) error { return errors.New("no space") }}
	require.EqualError(t, Run(strings.NewReader(input), time.Second, a, b), "no space")
	want := []event.Kind{"run-started", "of-a-newer-release", "run-ended"}
	require.Equal(t, want, a.took)
	require.Equal(t, want, b.took)
}

// TestSinksCloseTogetherWithinTheLimit checks that a sink whose collector does not answer delays the end
// only by the limit, also if there are two of them.
func TestSinksCloseTogetherWithinTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		began := time.Now()
		err := Run(strings.NewReader(""), 4*time.Second, &sink{close: stuck}, &sink{close: stuck})
		require.EqualError(t, err, "not finished within 4s\nnot finished within 4s")
		require.Equal(t, 4*time.Second, time.Since(began))
	})
}

func TestInputThatBreaksIsAnError(t *testing.T) {
	s := &sink{close: func(context.Context) error { return nil }}
	require.ErrorContains(t, Run(strings.NewReader(strings.Repeat("x", longestLine+1)), time.Second, s), "read events: ")
}
