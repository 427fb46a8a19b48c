package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// fakes is the number of workers of a run, and steps that of the lines of each rank.
const fakes, steps = 4, 60

// command returns a call of the agent that was built, with the server and the credentials of a user in variables.
func (g *gateway) command(ctx context.Context, dir, password string, words ...string) (cmd *exec.Cmd, complaints *bytes.Buffer) {
	bin := os.Getenv("MUSTER_BIN")
	if bin == "" {
		bin = "bin"
	}
	cmd, complaints = exec.CommandContext(ctx, filepath.Join(bin, "agent"), words...), &bytes.Buffer{}
	cmd.Stderr = complaints
	cmd.Env = append(os.Environ(), "AWS_ACCESS_KEY_ID="+user, "AWS_SECRET_ACCESS_KEY="+password, "AWS_ENDPOINT_URL=http://"+g.address, "AWS_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true", "TMPDIR="+dir, "MUSTER_DIR="+filepath.Join(dir, "r"), "MUSTER_TERMINATION_LOG="+filepath.Join(dir, "last-words"))
	return cmd, complaints
}

// wholeRun runs four ranks whose output goes to the bucket. The server is killed in between, and comes back before the
// end. Then agent logs prints exactly the lines of a rank.
func wholeRun(ctx context.Context, g *gateway, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	script := fmt.Sprintf("for n in $(seq %d); do echo step $n of rank $RANK; test $n != 30 || sleep 25; done", steps)
	cmd, said := g.command(ctx, dir, secret, "run", fmt.Sprint("--fake=", fakes), "--framework=plain", "--output=s3://logs/whole", "--", "sh", "-c", script)
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := g.hasRun(ctx, "logs/whole"); err != nil {
		return err
	}
	g.stop()
	time.Sleep(15 * time.Second) // longer than a mirror waits between two passes
	if err := g.start(ctx); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("agent run: %w\n%s", err, said)
	}
	if !strings.Contains(said.String(), "the output of the ranks is in s3://logs/whole/run-") {
		return fmt.Errorf("agent run does not name the place:\n%s", said)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "muster-output-*")); len(left) > 0 { // the pattern is valid
		return fmt.Errorf("left behind: %v", left)
	}
	for rank := range fakes {
		var want strings.Builder
		for n := 1; n <= steps; n++ {
			fmt.Fprintf(&want, "step %d of rank %d\n", n, rank)
		}
		if err := g.prints(ctx, dir, want.String(), fmt.Sprint("--rank=", rank)); err != nil {
			return err
		}
	}
	return g.prints(ctx, dir, "step 7 of rank 2\n", "--rank=2", "--grep=step 7 ")
}

// hasRun waits until the bucket has the first lines of a run.
func (g *gateway) hasRun(ctx context.Context, prefix string) error {
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(50 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(g.data, prefix, "run-*", "rank-*.out", "0*")); len(found) > 0 { // the pattern is valid
			return nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.New("no output in the bucket after a minute")
}

// prints checks the output of agent logs for the newest run.
func (g *gateway) prints(ctx context.Context, dir, want string, flags ...string) error {
	cmd, said := g.command(ctx, dir, secret, append([]string{"logs", "--from=s3://logs/whole"}, flags...)...)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("agent logs %v: %w\n%s", flags, err, said)
	}
	if string(out) != want {
		return fmt.Errorf("agent logs %v prints %q, want %q", flags, out, want)
	}
	return nil
}

// notBegun checks that a run does not begin if its output could not be kept, and says why.
func notBegun(ctx context.Context, g *gateway, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, c := range []struct{ target, password, want, hint string }{
		{"s3://logs/a", "wrong", "signature", "AWS_SECRET_ACCESS_KEY"},
		{"s3://nosuchbucket/a", secret, "bucket does not exist", "create the bucket"},
	} {
		cmd, said := g.command(ctx, dir, c.password, "run", "--fake=1", "--framework=plain", "--output="+c.target, "--", "touch", filepath.Join(dir, "started"))
		err := cmd.Run()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 64 {
			return fmt.Errorf("%s: %w, want exit code 64\n%s", c.target, err, said)
		}
		if !strings.Contains(said.String(), c.want) || !strings.Contains(said.String(), c.hint) || strings.Contains(said.String(), secret) {
			return fmt.Errorf("%s: %s", c.target, said)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		return errors.New("the command ran")
	}
	return nil
}
