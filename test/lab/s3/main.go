// Command s3 copies the output of a run to a real S3 server and back, with agent/archive/s3. The server is
// versitygw of the module gateway, over a directory of this machine.
//
//	test/lab/run s3
//
// The server is stopped while the run writes, and comes back. Then every byte must be there, and the
// directory that is fetched must be the one that was written. whole.go does the same with real runs: agent run
// --output=s3:// and agent logs --from=s3://.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/musterhq/muster/agent/archive"
	"github.com/musterhq/muster/agent/archive/s3"
	"github.com/musterhq/muster/test/suite/program"
)

const (
	user, secret = "muster", "a-secret-for-a-test"
	ranks        = 20
	lines        = 20000 // of each rank
)

func main() { program.Main("s3", run) }

func run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "s3-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built, err := program.Module{Dir: "test/lab/s3/gateway", Path: "github.com/versity/versitygw", Name: "versitygw", Commands: []string{"cmd/versitygw"}}.Build(ctx)
	if err != nil {
		return err
	}
	g := &gateway{program: filepath.Join(built, "versitygw"), data: filepath.Join(dir, "data")}
	if err := os.MkdirAll(filepath.Join(g.data, "logs"), 0o700); err != nil { // a directory is a bucket
		return err
	}
	if err := g.start(ctx); err != nil {
		return err
	}
	defer func() { g.stop() }()
	for name, check := range map[string]func(context.Context, *gateway, string) error{"there and back": thereAndBack, "refusals": refusals, "a whole run": wholeRun, "runs that do not begin": notBegun} {
		if err := check(ctx, g, filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Println("ok", name)
	}
	return nil
}

// gateway is the S3 server.
type gateway struct {
	program, data, address string
	cmd                    *exec.Cmd
	said                   bytes.Buffer
}

// start starts the server, and waits until it listens. A second start has the address of the first.
func (g *gateway) start(ctx context.Context) error {
	if g.address == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		g.address = l.Addr().String()
		if err := l.Close(); err != nil {
			return err
		}
	}
	g.cmd = exec.CommandContext(ctx, g.program, "--port", g.address, "--access", user, "--secret", secret, "--region", "us-east-1", "posix", "--nometa", g.data)
	g.said.Reset()
	g.cmd.Stdout, g.cmd.Stderr = &g.said, &g.said
	if err := g.cmd.Start(); err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", g.address); err == nil {
			return c.Close()
		}
	}
	g.stop()
	return fmt.Errorf("the S3 server does not listen at %s:\n%s", g.address, g.said.String())
}

func (g *gateway) stop() {
	_ = g.cmd.Process.Kill() // it may have ended
	_ = g.cmd.Wait()         // killed
}

// open opens a store on the server.
func (g *gateway) open(target, password string) (s3.Store, error) {
	t, err := s3.Parse(target)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"AWS_ACCESS_KEY_ID": user, "AWS_SECRET_ACCESS_KEY": password} {
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	return t.Open(s3.Server{Endpoint: "http://" + g.address, Region: "us-east-1"})
}

// thereAndBack mirrors a run while it writes, and fetches it.
func thereAndBack(ctx context.Context, g *gateway, dir string) error {
	store, err := g.open("s3://logs/team/bert", secret)
	if err != nil {
		return err
	}
	w, err := archive.Open(dir, archive.Run{ID: "one", Job: "bert"})
	if err != nil {
		return err
	}
	w.Begin(0)
	var all []io.WriteCloser
	for rank := range ranks {
		out, complaints, err := w.Streams(archive.Process{Label: fmt.Sprint("rank ", rank), Rank: rank})
		if err != nil {
			return err
		}
		all = append(all, out, complaints)
	}
	m, err := s3.NewMirror(ctx, store, dir)
	if err != nil {
		return err
	}
	failures := 0
	for n := range lines {
		for i := 0; i < len(all); i += 2 {
			if _, err := fmt.Fprintf(all[i], "line %d of rank %d of a run that writes to a bucket\n", n, i/2); err != nil {
				return err
			}
		}
		switch n {
		case lines / 4:
			g.stop()
		case lines / 2:
			if err := g.start(ctx); err != nil {
				return err
			}
		}
		if n%(lines/8) == 0 {
			pass, cancel := context.WithTimeout(ctx, 2*time.Second) // minio-go repeats requests for long
			if m.Pass(pass, true) != nil {
				failures++
			}
			cancel()
		}
	}
	for _, f := range all {
		if err := f.Close(); err != nil {
			return err
		}
	}
	w.End(0, "")
	if err := errors.Join(w.Close(0, ""), m.Close(ctx)); err != nil {
		return err
	}
	if failures == 0 {
		return errors.New("no pass failed while the server was down")
	}
	names, err := s3.Runs(ctx, store)
	if err != nil {
		return err
	}
	if len(names) != 1 || names[0] != m.Name() {
		return fmt.Errorf("runs in the bucket: %v, want %s", names, m.Name())
	}
	back := dir + "-back"
	if err := s3.Fetch(ctx, store, m.Name(), back, nil); err != nil {
		return err
	}
	return same(dir, back)
}

// same returns an error if two directories differ.
func same(dir, back string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		want, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(back, e.Name()))
		if err != nil {
			return err
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("%s has %d bytes, want %d", e.Name(), len(got), len(want))
		}
	}
	if len(entries) != 2*ranks+1 {
		return fmt.Errorf("%d files, want %d", len(entries), 2*ranks+1)
	}
	return nil
}

// refusals checks what a user sees of a wrong password and of a bucket that does not exist.
func refusals(ctx context.Context, g *gateway, _ string) error {
	for _, c := range []struct{ target, password, want string }{
		{"s3://logs/a", "wrong", "signature"}, {"s3://nosuchbucket/a", secret, "bucket does not exist"},
	} {
		store, err := g.open(c.target, c.password)
		if err != nil {
			return err
		}
		said := fmt.Sprint(store.Put(ctx, "a", []byte("a")))
		if !strings.Contains(said, c.want) || !strings.HasPrefix(said, "write "+c.target) {
			return fmt.Errorf("%s: error %q, want %q", c.target, said, c.want)
		}
	}
	return nil
}
