package gateway

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/template"
	"time"

	"github.com/musterhq/muster/exec/reap"
)

// The kinds of gateways. Open passes SPDY, too.
const (
	Open   = "open"
	Strips = "strips" // removes the Upgrade header, so that the API server answers 400
	Closes = "closes" // ends the connection without an answer
	Holds  = "holds"  // does not answer before its timeout of 60 s
	Idle   = "idle"   // strips, and cuts WebSockets that carry nothing for IdleTime
)

// IdleTime is the read timeout of the kind Idle. nginx's default, and that of the other kinds, is 60 s.
const IdleTime = 3 * time.Second

// answers are the kinds that answer SPDY with an error of their own. The kind is the HTTP status.
func answers() []string { return []string{"403", "426", "502", "503"} }

// Blocking returns the kinds that drop SPDY.
func Blocking() []string { return append([]string{Strips, Closes, Holds}, answers()...) }

//go:embed nginx.conf
var config string

// program is where Debian's nginx-light is.
const program = "/usr/sbin/nginx"

// Gateway is a running nginx.
type Gateway struct {
	dir    string
	silent net.Listener
	wg     sync.WaitGroup
	proc   *reap.Process
}

// Start starts nginx in front of an API server, with its files in dir.
func Start(reaper *reap.Reaper, dir, api string) (g *Gateway, err error) {
	g = &Gateway{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start gateway: %w", err), g.Close())
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return g, err
	}
	if g.silent, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		return g, err
	}
	g.wg.Go(g.hold)
	file := filepath.Join(dir, "nginx.conf")
	if err := g.configure(file, api); err != nil {
		return g, err
	}
	log, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return g, err
	}
	defer log.Close()
	g.proc, err = reaper.Start(reap.Spec{Path: program, Argv: []string{program, "-e", filepath.Join(dir, "error.log"), "-c", file},
		Dir: dir, Env: os.Environ(), Setsid: true, Files: []*os.File{nil, log, log}})
	if err != nil {
		return g, fmt.Errorf("%w (make fault installs nginx-light)", err)
	}
	return g, g.await()
}

func (g *Gateway) configure(file, api string) error {
	text, err := template.New("nginx.conf").Parse(config)
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(text.Execute(out, map[string]any{"Dir": g.dir, "API": api, "Silent": g.silent.Addr().String(), "Answers": answers(),
		"Open": Open, "Strips": Strips, "Closes": Closes, "Holds": Holds, "Idle": Idle, "IdleSeconds": int(IdleTime.Seconds())}), out.Close())
}

// hold accepts connections and never answers. They end when nginx closes them.
func (g *Gateway) hold() {
	for {
		c, err := g.silent.Accept()
		if err != nil {
			return
		}
		g.wg.Go(func() {
			defer c.Close()
			for buf := make([]byte, 4<<10); ; {
				if _, err := c.Read(buf); err != nil {
					return
				}
			}
		})
	}
}

// await waits until nginx answers at each socket.
func (g *Gateway) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for _, kind := range append(Blocking(), Open, Idle) {
		client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", g.Path(kind))
		}}}
		for {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://gateway/", nil)
			if err != nil {
				return err
			}
			answer, err := client.Do(req)
			if err == nil {
				_ = answer.Body.Close() // every answer counts
				break
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-g.proc.Done():
				said, _ := os.ReadFile(filepath.Join(g.dir, "error.log")) // best effort: it explains the exit
				return fmt.Errorf("nginx ended with %d: %s", g.proc.Status().Code, said)
			case <-ctx.Done():
				return fmt.Errorf("nginx does not answer at %s: %w", g.Path(kind), err)
			}
		}
	}
	return nil
}

// Path returns the unix socket of a kind.
func (g *Gateway) Path(kind string) string { return filepath.Join(g.dir, kind) }

// Dropped returns how many SPDY requests each kind has dropped so far.
func (g *Gateway) Dropped() (map[string]int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, "access.log"))
	if err != nil {
		return nil, fmt.Errorf("count requests: %w", err)
	}
	return dropped(string(text)), nil
}

// dropped counts the lines of SPDY requests, which are the only POST requests. It leaves out requests that
// changed protocols.
func dropped(log string) map[string]int {
	n := map[string]int{}
	for line := range strings.Lines(log) {
		if f := strings.Fields(line); len(f) == 4 && f[1] == http.MethodPost && f[2] != "101" {
			n[f[0]]++
		}
	}
	return n
}

// Close ends nginx. It returns an error if nginx had ended before.
func (g *Gateway) Close() error {
	var err error
	if g.proc != nil {
		select {
		case <-g.proc.Done():
			err = fmt.Errorf("nginx ended by itself with %d", g.proc.Status().Code)
		default:
			_ = g.proc.Signal(syscall.SIGTERM) // if it has just ended, its status shows that
			if st := g.proc.Status(); st.Code != 0 {
				err = fmt.Errorf("nginx ended with %d", st.Code)
			}
		}
	}
	if g.silent != nil {
		_ = g.silent.Close() // it only listens
	}
	g.wg.Wait()
	return err
}
