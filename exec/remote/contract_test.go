package remote

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
)

// bridge simulates `agent attach` in a container. It ends when either direction ends.
func bridge(socket string) fakekube.Command {
	return func(_ context.Context, _, _ string, _ []string, in io.Reader, out, _ io.Writer) (int, error) {
		c, err := net.Dial("unix", socket)
		if err != nil {
			return 255, nil
		}
		defer c.Close()
		done := make(chan struct{}, 2)
		go func() { _, _ = io.Copy(c, in); done <- struct{}{} }()
		go func() { _, _ = io.Copy(out, c); done <- struct{}{} }()
		<-done
		return 0, nil
	}
}

// TestContract runs the suite of exec/local through a wire-level API server. The suite cuts
// connections by RST, and refuses them with a 403 of that server.
func TestContract(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		contract.Suite(t, func(testing.TB) contract.Way {
			var w world
			return contract.Way{
				Dialer: func(t testing.TB, worker *contract.Worker) link.Dialer {
					w = on(t, protocol, bridge(worker.Socket))
					return w.dialer
				},
				Cut: func() { w.exec.Cut(true) },
				Refuse: func(d time.Duration) {
					w.server.Fail(fakekube.Failure{Code: 403, Until: time.Now().Add(d)})
				},
			}
		})
	})
}
