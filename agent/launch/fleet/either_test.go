//go:build linux

package fleet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/rendezvous"
)

// way is a dialer with a script: the next dial waits, and returns the next error, or a stream that
// reads text. The last entry stays.
type way struct {
	dials int
	wait  time.Duration
	errs  []error
	text  string
}

func (w *way) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	w.dials++
	if w.wait > 0 {
		select {
		case <-time.After(w.wait):
		case <-ctx.Done():
			return nil, &link.DialError{Kind: link.Server, Err: context.Cause(ctx)}
		}
	}
	err := w.errs[0]
	if len(w.errs) > 1 {
		w.errs = w.errs[1:]
	}
	if err != nil {
		return nil, err
	}
	return stream{strings.NewReader(w.text)}, nil
}

type stream struct{ *strings.Reader }

func (stream) Write(p []byte) (int, error) { return len(p), nil }
func (stream) Close() error                { return nil }

func server(err error) error { return &link.DialError{Kind: link.Server, Err: err} }

var (
	refused   = server(syscall.ECONNREFUSED)
	wrongKey  = server(secure.ErrRefused)
	forbidden = &link.DialError{Kind: link.Forbidden, Err: errors.New("no right")}
)

func TestEither(t *testing.T) {
	ok := []error{nil}
	for name, tc := range map[string]struct {
		network, exec way
		dials         int   // of the link
		byNetwork     int   // dials by network, 0: any number
		byExec        int   // dials by exec
		want          error // of the last dial
		fell          bool
		took          time.Duration // of all dials
	}{
		"the network works":                          {network: way{errs: ok}, dials: 3, byNetwork: 3},
		"a wrong key":                                {network: way{errs: []error{wrongKey}}, exec: way{errs: ok, text: "x"}, dials: 3, byNetwork: 1, byExec: 3, fell: true},
		"refused while the agent starts":             {network: way{errs: []error{refused, refused, nil}}, dials: 1, byNetwork: 3, took: 100 * time.Millisecond},
		"refused for good":                           {network: way{errs: []error{refused}}, exec: way{errs: ok, text: "x"}, dials: 2, byExec: 2, fell: true, took: startTime},
		"refused after it was linked":                {network: way{errs: []error{nil, refused}}, exec: way{errs: ok, text: "x"}, dials: 2, byNetwork: 2, byExec: 1, fell: true},
		"silent once":                                {network: way{errs: []error{server(errors.New("silent")), nil}}, dials: 2, byNetwork: 2},
		"silent twice":                               {network: way{wait: time.Hour, errs: ok}, exec: way{errs: ok, text: "x"}, dials: 2, byNetwork: 2, byExec: 1, fell: true, took: 2 * networkTime},
		"no way at all":                              {network: way{errs: []error{wrongKey}}, exec: way{errs: []error{forbidden}}, dials: 2, byNetwork: 2, byExec: 2, want: forbidden},
		"exec opens, but no worker runs there (yet)": {network: way{errs: []error{wrongKey, nil}}, exec: way{errs: ok}, dials: 2, byNetwork: 2, byExec: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var why error
				e := &either{network: &tc.network, exec: &tc.exec, gate: link.NewGate(), fell: func(err error) {
					require.NoError(t, why, "once")
					why = err
				}}
				began := time.Now()
				var err error
				for range tc.dials {
					var c io.ReadWriteCloser
					if c, err = e.Dial(t.Context()); err == nil {
						_, _ = c.Read(make([]byte, 1))
					}
				}
				if tc.byNetwork > 0 {
					require.Equal(t, tc.byNetwork, tc.network.dials)
				}
				require.Equal(t, tc.byExec, tc.exec.dials)
				require.Equal(t, tc.fell, why != nil)
				require.Equal(t, tc.took, time.Since(began).Truncate(50*time.Millisecond))
				if tc.want == nil {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, tc.want)
				require.Equal(t, KindOf(tc.want), KindOf(err))
				require.ErrorContains(t, err, "by network: "+secure.ErrRefused.Error())
				time.Sleep(2 * time.Second) // timers of the gate
			})
		})
	}
}

func TestNetworkIsSaidOnce(t *testing.T) {
	var out bytes.Buffer
	n := &Network{port: 9378, fell: map[string]error{}, log: slog.New(slog.DiscardHandler)}
	voice := &console.Voice{Out: &out}
	workers := []rendezvous.Worker{{Name: "w-0"}, {Name: "w-1"}, {Name: "w-2"}}
	(*Network)(nil).Say(voice, workers)
	n.Say(voice, workers)
	require.Empty(t, out.String())
	n.note("w-1", refused)
	n.note("w-2", refused)
	n.note("of an earlier attempt", refused)
	n.Say(voice, workers)
	require.Equal(t, "agent: 2 of 3 workers cannot be reached by network and are linked by exec, such as w-1: connection refused\n"+
		"hint: give workers the key of the job with --key-file, and allow TCP port 9378 from the launcher to the workers in the NetworkPolicy\n", out.String())
	n.Say(voice, workers)
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
	require.Contains(t, n.way(wrongKey), "MUSTER_POD_NAME")
}

func TestNewNetwork(t *testing.T) {
	paths, err := secure.WritePair(t.TempDir())
	require.NoError(t, err)
	for name, tc := range map[string]struct {
		transport, file string
		fake            int
		want            bool
		wrong           string
	}{
		"exec":                   {transport: config.TransportExec, file: paths[0]},
		"network":                {transport: config.TransportNetwork, file: paths[0], want: true},
		"auto with a key":        {transport: config.TransportAuto, file: paths[0], want: true},
		"auto without":           {transport: config.TransportAuto},
		"auto, no such file":     {transport: config.TransportAuto, file: paths[0] + "x"},
		"network, no such file":  {transport: config.TransportNetwork, file: paths[0] + "x", wrong: "no such file"},
		"auto, the worker's key": {transport: config.TransportAuto, file: paths[1], wrong: "it is the key of a worker"},
		"fake workers":           {transport: config.TransportNetwork, fake: 2, want: true},
	} {
		n, err := NewNetwork(config.Config{Selection: config.Selection{Transport: tc.transport, KeyFile: tc.file}, Rehearsal: config.Rehearsal{Fake: tc.fake}})
		if tc.wrong != "" {
			require.ErrorContains(t, err, tc.wrong, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, tc.want, n != nil, name)
	}
}
