//go:build linux

package launch

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/failure"
	"github.com/musterhq/muster/agent/framework"
	"github.com/musterhq/muster/agent/launch/config"
	"github.com/musterhq/muster/agent/launch/console"
	"github.com/musterhq/muster/agent/launch/fleet"
	"github.com/musterhq/muster/agent/launch/plan"
	"github.com/musterhq/muster/agent/launch/tally"
	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/exec/local"
	"github.com/musterhq/muster/exec/wire"
	"github.com/musterhq/muster/rendezvous"
	"github.com/musterhq/muster/test/contract"
)

// TestSignalsWhileTheRunEnds checks that the workers learn that the job is over whatever signals came
// before they could be told: timeout(1) sends each signal twice. A later signal ends the wait for a
// worker that does not answer, unless it is meant for the command.
func TestSignalsWhileTheRunEnds(t *testing.T) {
	for name, row := range map[string]struct {
		before, after []os.Signal
		silent        bool // the worker does not answer
		says          string
	}{
		"an echo":                  {before: []os.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		"meant for the command":    {before: []os.Signal{syscall.SIGUSR1}},
		"a signal during the wait": {after: []os.Signal{syscall.SIGUSR1, syscall.SIGTERM}, silent: true, says: "agent: terminated: not waiting for the workers\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			worker := contract.NewWorker(t, nil)
			node := &contract.Node{Dialer: local.Dialer{Path: worker.Socket}}
			r := &runner{cfg: config.Defaults(), means: means{voice: &console.Voice{Out: &said}, signals: make(chan os.Signal, 100)}, tally: tally.New()}
			r.links = fleet.NewLinks(nil, nil, wire.HelloRecord{}, time.Hour, slog.New(slog.DiscardHandler), r.tally)
			r.fleet = &fleet.Fakes{Links: r.links}
			working, stop := context.WithCancel(context.Background())
			r.links.Keep(working, rendezvous.Worker{Name: "w-0"}, func(note func(link.State)) *link.Link {
				return link.New(link.Config{Worker: "w-0", Dialer: node, OnState: note})
			})
			require.Eventually(t, func() bool { return r.links.Standings()["w-0"].State.Connected }, time.Minute, time.Millisecond)
			if row.silent {
				node.Lose()
				node.Cut()
			}
			for _, sig := range row.before {
				r.signals <- sig
			}
			over := make(chan struct{})
			var sender sync.WaitGroup
			sender.Go(func() {
				for {
					select {
					case <-over:
						return
					case <-time.After(300 * time.Millisecond): // no echo
					}
					for _, sig := range row.after {
						r.signals <- sig
					}
				}
			})
			began := time.Now()
			r.teardown(working)
			require.Less(t, time.Since(began), urgentWait)
			close(over)
			sender.Wait()
			stop()
			r.links.Close()
			r.wg.Wait()
			if row.silent {
				require.Contains(t, said.String(), row.says)
				return
			}
			require.Empty(t, said.String())
			<-worker.Server.Outcome() // the job is over
		})
	}
}

// TestUntilSignal checks which signals end the wait for the output that is copied to a bucket.
func TestUntilSignal(t *testing.T) {
	for sig, ends := range map[os.Signal]bool{syscall.SIGUSR1: false, syscall.SIGUSR2: false, syscall.SIGTERM: true, syscall.SIGINT: true} {
		synctest.Test(t, func(t *testing.T) {
			r := &runner{means: means{signals: make(chan os.Signal, 1)}}
			ctx, stop := r.untilSignal(t.Context())
			defer stop()
			r.signals <- sig
			synctest.Wait()
			require.Equal(t, ends, ctx.Err() != nil, sig)
		})
	}
}

// TestSignalsBeforeTheWait checks that the launcher ends when it is told to, although the API server
// does not answer, so that it has not begun to wait for workers.
func TestSignalsBeforeTheWait(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close()) // connections are refused from now on
	kubeconfig := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(`{"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://`+l.Addr().String()+`"}}], "users": [{"name": "u"}]}`), 0o600))
	r := &runner{cfg: config.Defaults(), means: means{voice: &console.Voice{Out: io.Discard}, log: slog.New(slog.DiscardHandler), signals: make(chan os.Signal, 4)}, tally: tally.New()}
	r.cfg.Kubeconfig, r.cfg.PodName, r.cfg.Timeout = kubeconfig, "pi-launcher", 10*time.Second
	r.signals <- syscall.SIGUSR1
	r.signals <- syscall.SIGTERM
	require.Equal(t, 143, failure.CodeOf(r.findCluster(t.Context(), t.Context())))
}

// TestSignalsWhileFilesAreLaid checks that the launcher ends when it is told to, although a worker that
// needs files does not answer.
func TestSignalsWhileFilesAreLaid(t *testing.T) {
	r, _ := runnerWith(t, 1)
	node := &contract.Node{}
	node.Lose()
	r.links.Forget([]string{"w-0"})
	r.links.Keep(t.Context(), rendezvous.Worker{Name: "w-0"}, func(note func(link.State)) *link.Link {
		return link.New(link.Config{Worker: "w-0", Dialer: node, OnState: note})
	})
	r.signals <- syscall.SIGTERM
	err := r.layFiles(t.Context(), &plan.Plan{Files: []framework.File{{Name: "hosts"}}, Hosts: []plan.Host{{Name: "w-0"}}, Processes: []plan.Process{{}}}, nil)
	require.Equal(t, 143, failure.CodeOf(err))
	require.True(t, r.hurry)
}
