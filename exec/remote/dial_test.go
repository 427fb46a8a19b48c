package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/musterhq/muster/exec/link"
	"github.com/musterhq/muster/test/contract"
	"github.com/musterhq/muster/test/fakekube"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard()) // the server side of these tests logs each cut
	goleak.VerifyTestMain(m)
}

func kind(t *testing.T, err error) link.Kind {
	t.Helper()
	var failed *link.DialError
	require.ErrorAs(t, err, &failed)
	return failed.Kind
}

// echo sends its input back until the input ends.
func echo(_ context.Context, _, _ string, _ []string, in io.Reader, out, _ io.Writer) (int, error) {
	_, _ = io.Copy(out, in)
	return 0, nil
}

// stay runs until the test ends.
func stay(ctx context.Context, _, _ string, _ []string, _ io.Reader, out, _ io.Writer) (int, error) {
	_, _ = out.Write([]byte("hello"))
	<-ctx.Done()
	return 0, nil
}

type world struct {
	server *fakekube.Server
	exec   *fakekube.Exec
	dialer *Dialer
}

// on sets up a server whose containers run command, reached by protocol.
func on(t testing.TB, protocol string, command fakekube.Command) world {
	server := fakekube.New(t)
	exec := fakekube.NewExec(t, command)
	server.Handle(fakekube.ExecPath, exec)
	proto := worked(protocol)
	return world{server, exec, New(&rest.Config{Host: server.URL()}, nil, target, proto)}
}

// worked returns a Protocol whose dialers have opened a stream by protocol.
func worked(protocol string) *Protocol {
	p := &Protocol{memory: memory{opened: 1}}
	if protocol == fakekube.WebSocket {
		p.memory.first = WebSocket
	}
	return p
}

func each(t *testing.T, f func(t *testing.T, protocol string)) {
	for _, protocol := range []string{fakekube.WebSocket, fakekube.SPDY} {
		t.Run(protocol, func(t *testing.T) { f(t, protocol) })
	}
}

func (w world) dial(t testing.TB) io.ReadWriteCloser {
	t.Helper()
	conn, err := w.dialer.Dial(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// end reads conn to its end, and returns the bytes and the cause of the end.
func end(t *testing.T, conn io.Reader) (string, *link.DialError) {
	t.Helper()
	var got bytes.Buffer
	buf := make([]byte, 32<<10)
	for {
		n, err := conn.Read(buf)
		got.Write(buf[:n])
		if err == nil {
			continue
		}
		var failed *link.DialError
		require.ErrorAs(t, err, &failed)
		_, again := conn.Read(buf)
		require.Equal(t, err, again, "the cause does not change")
		return got.String(), failed
	}
}

func TestRunsAttachOfTheAgent(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, func(_ context.Context, pod, container string, argv []string, _ io.Reader, out, errs io.Writer) (int, error) {
			_, _ = errs.Write([]byte("no socket\n"))
			_, _ = io.WriteString(out, strings.Join(append([]string{pod, container}, argv...), " "))
			return 3, nil
		})
		got, failed := end(t, w.dial(t))
		require.Equal(t, "pi-worker-0 main /muster/agent attach", got)
		require.Equal(t, link.Dropped, failed.Kind)
		require.ErrorContains(t, failed, "exited with code 3")
		require.Equal(t, map[string]int{protocol: 1}, w.exec.Dials())
	})
}

func TestBytesBothWays(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 8<<20)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		conn := on(t, protocol, echo).dial(t)
		wrote := make(chan error, 1)
		go func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 1+random.IntN(600<<10))
				if _, err := conn.Write(rest[:n]); err != nil {
					wrote <- err
					return
				}
				rest = rest[n:]
			}
			wrote <- nil
		}()
		got := make([]byte, len(data))
		_, err := io.ReadFull(conn, got)
		require.NoError(t, err)
		require.NoError(t, <-wrote)
		require.Equal(t, sha256.Sum256(data), sha256.Sum256(got))
	})
}

func TestEndsAreClassified(t *testing.T) {
	missing := errors.New(`failed to exec in container: failed to start exec "ab": OCI runtime exec failed: exec failed: ` +
		`unable to start container process: exec: "/muster/agent": stat /muster/agent: no such file or directory: unknown`)
	for _, c := range []struct {
		name    string
		command fakekube.Command
		then    func(world)
		want    link.Kind
	}{
		{"cut by FIN", stay, func(w world) { w.exec.Cut(false) }, link.Dropped},
		{"cut by RST", stay, func(w world) { w.exec.Cut(true) }, link.Dropped},
		{"forged success", stay, func(w world) { w.exec.Forge() }, link.Dropped},
		{"server stopped", stay, func(w world) { w.server.Stop() }, link.Dropped},
		{"agent missing", fails(missing), nil, link.AgentMissing},
		{"container stopped", fails(errors.New("cannot exec in a stopped container")), nil, link.Server},
		{"exit 127", exits(127), nil, link.AgentMissing},
		{"exit 0", exits(0), nil, link.Dropped},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, protocol string) {
				w := on(t, protocol, c.command)
				conn := w.dial(t)
				if c.then != nil {
					_, err := io.ReadFull(conn, make([]byte, len("hello")))
					require.NoError(t, err)
					c.then(w)
				}
				_, failed := end(t, conn)
				require.Equal(t, c.want, failed.Kind, "%v", failed)
			})
		})
	}
}

func fails(err error) fakekube.Command {
	return func(context.Context, string, string, []string, io.Reader, io.Writer, io.Writer) (int, error) {
		return 0, err
	}
}

func exits(code int) fakekube.Command {
	return func(context.Context, string, string, []string, io.Reader, io.Writer, io.Writer) (int, error) {
		return code, nil
	}
}

func TestAnswersAreClassifiedWithoutFallback(t *testing.T) {
	for code, want := range map[int]link.Kind{
		401: link.Unauthorized, 403: link.Forbidden, 404: link.NotFound, 429: link.Server, 500: link.Server, 503: link.Server,
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			each(t, func(t *testing.T, protocol string) {
				w := on(t, protocol, echo)
				w.server.Fail(fakekube.Failure{Code: code, Count: 1})
				_, err := w.dialer.Dial(t.Context())
				require.Equal(t, want, kind(t, err))
				require.Len(t, w.server.Requests(), 1)
				require.NoError(t, w.dial(t).Close(), "the next dial works")
				require.Equal(t, map[string]int{protocol: 1}, w.exec.Dials())
			})
		})
	}
}

func TestFallsBackAndRemembers(t *testing.T) {
	for _, code := range []int{400, 403} {
		w := on(t, fakekube.WebSocket, echo)
		w.exec.Refuse(fakekube.WebSocket, code, "Bad Request")
		for range 3 {
			require.NoError(t, w.dial(t).Close())
		}
		require.Equal(t, map[string]int{fakekube.WebSocket: 1, fakekube.SPDY: 3}, w.exec.Dials())
		require.Equal(t, "SPDY", w.dialer.proto.String())

		w.exec.Refuse(fakekube.WebSocket, 0, "")
		w.exec.Refuse(fakekube.SPDY, code, "no more SPDY")
		for range 2 {
			require.NoError(t, w.dial(t).Close())
		}
		require.Equal(t, map[string]int{fakekube.WebSocket: 3, fakekube.SPDY: 4}, w.exec.Dials())
	}
}

func TestPassingRefusalIsNotRemembered(t *testing.T) {
	w := on(t, fakekube.WebSocket, echo)
	w.exec.Refuse(fakekube.WebSocket, 500, "oops")
	require.NoError(t, w.dial(t).Close())
	require.Equal(t, "WebSocket", w.dialer.proto.String())
}

func TestBothRefused(t *testing.T) {
	for code, want := range map[int]link.Kind{400: link.Server, 403: link.Forbidden} {
		w := on(t, fakekube.WebSocket, echo)
		w.exec.Refuse(fakekube.WebSocket, code, "no WebSocket")
		w.exec.Refuse(fakekube.SPDY, code, "no SPDY here")
		_, err := w.dialer.Dial(t.Context())
		require.Equal(t, want, kind(t, err))
		require.ErrorContains(t, err, "no WebSocket")
		require.ErrorContains(t, err, "no SPDY here")
	}
}

func TestTokenFileIsReadForEachDial(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, echo)
		file := filepath.Join(t.TempDir(), "token")
		var want string
		w.server.Fail(fakekube.Failure{Code: 401, Match: func(r *http.Request) bool {
			return r.Header.Get("Authorization") != "Bearer "+want
		}})
		w.dialer.cfg.BearerTokenFile, w.dialer.cfg.BearerToken = file, "first"
		for _, want = range []string{"first", "second"} {
			require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
			require.NoError(t, w.dial(t).Close())
		}
	})
}

func TestRedirectIsRefused(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, echo)
		server := fakekube.New(t)
		server.Handle(fakekube.ExecPath, http.RedirectHandler(w.server.URL()+"/elsewhere", http.StatusFound))
		w.dialer.cfg.Host = server.URL()
		_, err := w.dialer.Dial(t.Context())
		require.Equal(t, link.Server, kind(t, err))
		require.Empty(t, w.server.Requests())
	})
}

func TestCloseEndsReadAndWrite(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, echo)
		w.exec.Stall(true)
		conn := w.dial(t)
		done := make(chan error, 2)
		go func() {
			_, err := conn.Read(make([]byte, 10))
			done <- err
		}()
		go func() {
			var err error
			for err == nil { // until the connection is full
				_, err = conn.Write(make([]byte, 1<<20))
			}
			done <- err
		}()
		contract.Blocked(t, "TestCloseEndsReadAndWrite", "poll.(*FD).Write(")
		require.NoError(t, conn.Close())
		require.Equal(t, link.Dropped, kind(t, <-done))
		require.Equal(t, link.Dropped, kind(t, <-done))
		require.NoError(t, conn.Close())
	})
}

func TestCloseWithUnreadOutput(t *testing.T) {
	each(t, func(t *testing.T, protocol string) {
		w := on(t, protocol, func(ctx context.Context, _, _ string, _ []string, _ io.Reader, out, _ io.Writer) (int, error) {
			var err error
			for err == nil && ctx.Err() == nil {
				_, err = out.Write(make([]byte, 64<<10))
			}
			return 0, nil
		})
		conn := w.dial(t)
		_, err := conn.Read(make([]byte, 1))
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	})
}
