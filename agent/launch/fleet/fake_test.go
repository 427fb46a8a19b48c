//go:build linux

package fleet

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
)

func TestFakeTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		origin             string
		given, lease, wait time.Duration
	}{
		"default":    {"default", 15 * time.Minute, time.Minute, time.Minute},
		"short":      {"flag --lease", 30 * time.Second, 30 * time.Second, 30 * time.Second},
		"very short": {"flag --lease", 2 * time.Second, 2 * time.Second, 10 * time.Second},
		"long":       {"env MUSTER_LEASE", time.Hour, time.Hour, time.Minute},
	} {
		cfg := config.Config{Limits: config.Limits{Lease: tc.given}, Origin: map[string]string{"lease": tc.origin}}
		require.Equal(t, tc.lease, FakeLease(cfg), name)
		require.Equal(t, tc.wait, fakeAwait(cfg), name)
	}
}

func TestPingEvery(t *testing.T) {
	require.Equal(t, 5*time.Second, pingEvery(15*time.Minute))
	require.Equal(t, 250*time.Millisecond, pingEvery(time.Second), "even the shortest lease has several pings")
}

func TestLastWordsIn(t *testing.T) {
	for log, want := range map[string]string{
		"":                             "",
		"time=1 msg=a\ntime=2 msg=b\n": "time=2 msg=b",
		"time=1 msg=a\nagent: why\nhint: do that\n": "why",
		"hint: do that\n": "do that",
		"agent: why\nruntime: no thread\nfatal error: newosproc\n\nruntime stack:\n\tproc.go:175\n": "runtime: no thread",
		"fatal error: x\n\tproc.go:175\n":       "fatal error: x",
		"panic: y [recovered]\n\tproc.go:175\n": "panic: y [recovered]",
	} {
		require.Equal(t, want, lastWordsIn(log))
	}
}

// dials is a dialer that fails until ok is set.
type dials struct {
	made int
	ok   bool
}

func (d *dials) Dial(context.Context) (io.ReadWriteCloser, error) {
	d.made++
	if d.ok {
		return nil, nil
	}
	return nil, errors.New("refused")
}

func TestPatientUntilTheWorkerAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dials{}
		p := &patient{inner: d}
		began := time.Now()
		_, err := p.Dial(t.Context())
		require.Error(t, err)
		require.Equal(t, time.Second, time.Since(began), "the worker may still be starting")
		d.ok = true
		_, err = p.Dial(t.Context())
		require.NoError(t, err)
		d.ok, d.made = false, 0
		_, err = p.Dial(t.Context())
		require.Error(t, err)
		require.Equal(t, 1, d.made, "a worker that answered before is not dialed again")
	})
}
