//go:build linux

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/proc"
)

// place runs rows.
type place interface {
	// run runs a row and returns its outcome. An error means that the row could not be run.
	run(ctx context.Context, r row, venvs map[string]venv) (outcome, error)
}

// fakes runs rows under agent run --fake.
type fakes struct {
	bin     string // directory of agent
	scripts string
	dir     string // for the rows' files
}

const envMark = "FRAMEWORKS_MARK" // set in every process of a row

func (f fakes) run(ctx context.Context, r row, venvs map[string]venv) (outcome, error) {
	shared, err := os.MkdirTemp(f.dir, "r")
	if err != nil {
		return outcome{}, err
	}
	v := venvs[r.venv]
	paths := map[string]string{"scripts": f.scripts, "shared": shared, "venv": v.dir}
	mark := rand.Text()
	argv := []string{"run", fmt.Sprintf("--fake=%d", r.size()), fmt.Sprintf("--slots=%d", max(1, r.slots))}
	argv = append(append(argv, fill(r.flags, paths)...), "--")
	argv = append(argv, fill(r.argv, paths)...)

	stdout, stderr := proc.NewOutput(), &bytes.Buffer{}
	cmd := exec.Command(filepath.Join(f.bin, "agent"), argv...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(clean(os.Environ()), pythonEnv(r, venvs, func(v venv) string { return v.dir })...)
	cmd.Env = append(cmd.Env, searchPath(r, venvs, func(v venv) string { return v.dir }, f.bin, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"),
		envMark+"="+mark)
	cmd.Env = append(cmd.Env, fill(append(slices.Clone(r.env), r.fakeEnv...), paths)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	o := outcome{began: time.Now()}
	if err := cmd.Start(); err != nil {
		return o, err
	}
	told := befall(ctx, r, live{
		output: func(context.Context) string { return stdout.String() },
		stop:   func(context.Context) error { return cmd.Process.Signal(syscall.SIGTERM) },
		cut:    func(context.Context) error { return errors.New("fake workers' links are cut by --fake-fault") },
	})
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	})
	err = cmd.Wait()
	late := !stop()
	o.ended = time.Now()
	o.code, o.out, o.err = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	o.left = left(mark)
	var terr, rerr error
	o.struck, terr = told()
	o.report, rerr = reported(shared)
	var exit *exec.ExitError
	switch {
	case terr != nil || rerr != nil:
		return o, errors.Join(terr, rerr)
	case late:
		return o, fmt.Errorf("not ended after %s", o.ended.Sub(o.began).Round(time.Second))
	case err != nil && !errors.As(err, &exit):
		return o, err
	}
	return o, nil
}

// pythonEnv returns variables for a row's processes in every place. at returns the directory of an
// environment in that place.
func pythonEnv(r row, venvs map[string]venv, at func(venv) string) []string {
	env := []string{
		"OMP_NUM_THREADS=1", // many processes, few cores
		"PYTHONUNBUFFERED=1",
	}
	var path []string
	for _, name := range r.also {
		path = append(path, sitePackages(at(venvs[name])))
	}
	if len(path) > 0 {
		env = append(env, "PYTHONPATH="+strings.Join(path, ":"))
	}
	return env
}

// searchPath returns PATH, with the row's own programs first.
func searchPath(r row, venvs map[string]venv, at func(venv) string, rest ...string) string {
	var dirs []string
	for _, name := range r.recipes() {
		dirs = append(dirs, filepath.Join(at(venvs[name]), "bin"))
	}
	return "PATH=" + strings.Join(append(dirs, rest...), ":")
}

// clean removes variables that would influence Muster, Python or a framework.
func clean(env []string) (kept []string) {
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		ours := name == "PATH" || name == "RANK" || name == "WORLD_SIZE" || name == "KUBECONFIG"
		for _, prefix := range []string{"MUSTER_", "FRAMEWORKS_", "PYTHON", "VIRTUAL_ENV", "OMPI_", "PRTE_", "PMIX_", "HYDRA_", "I_MPI_",
			"KUBERNETES_", "JAX_", "MASTER_", "PET_", "DMLC_", "TF_", "PADDLE_", "RAY_", "SLURM_"} {
			ours = ours || strings.HasPrefix(name, prefix)
		}
		if !ours {
			kept = append(kept, kv)
		}
	}
	return kept
}

// left returns the running processes of a row, and kills them.
func left(mark string) (words []string) {
	time.Sleep(200 * time.Millisecond) // processes that were just killed may still be listed
	for _, p := range proc.Marked(envMark + "=" + mark) {
		words = append(words, p.Line())
	}
	proc.Wipe(envMark + "=" + mark)
	return words
}

// live has the actions for a row that is running.
type live struct {
	output func(context.Context) string // of the launcher, so far
	stop   func(context.Context) error  // SIGTERM to agent run
	cut    func(context.Context) error  // resets the launcher's connections
}

// during is an action while a row runs. It runs until ctx is done, and returns the times at
// which it acted.
type during func(ctx context.Context, l live) ([]time.Time, error)

const (
	lookEvery = 300 * time.Millisecond // interval between looks at a row's output
	cutEvery  = 500 * time.Millisecond
)

// befall starts a row's action in the background. The returned function stops
// it and returns its result.
func befall(ctx context.Context, r row, l live) func() ([]time.Time, error) {
	if r.during == nil {
		return func() ([]time.Time, error) { return nil, nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var struck []time.Time
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		struck, err = r.during(ctx, l)
	}()
	return func() ([]time.Time, error) {
		cancel()
		<-done
		if errors.Is(err, context.Canceled) {
			err = nil // the row has ended
		}
		return struck, err
	}
}

// spoken waits until n ranks have reported under name.
func spoken(ctx context.Context, l live, name string, n int) error {
	for len(said(l.output(ctx), name)) < n {
		if err := await.Pause(ctx, lookEvery); err != nil {
			return err
		}
	}
	return nil
}

// stopWhen sends SIGTERM to agent run after n ranks have reported.
func stopWhen(name string, n int) during {
	return func(ctx context.Context, l live) ([]time.Time, error) {
		if err := spoken(ctx, l, name, n); err != nil {
			return nil, err
		}
		at := time.Now()
		return []time.Time{at}, l.stop(ctx)
	}
}

// cutting resets the launcher's connections repeatedly, from the start of the first
// transfer.
func cutting(ctx context.Context, l live) (struck []time.Time, err error) {
	if err := spoken(ctx, l, "begins", 1); err != nil {
		return nil, err
	}
	for {
		if err := await.Pause(ctx, cutEvery); err != nil {
			return struck, err
		}
		// There may be no connection at the moment. Only successful cuts count.
		if err = l.cut(ctx); err == nil {
			struck = append(struck, time.Now())
		}
	}
}

// outlasts checks that the ranks ran until the end of the grace after SIGTERM, and that the run
// ended soon after.
func outlasts(grace, within time.Duration) want {
	return func(_ row, o outcome) (string, error) {
		if len(o.struck) != 1 {
			return "", errors.New("agent run ended before SIGTERM was sent")
		}
		took := o.ended.Sub(o.struck[0])
		if took < grace || took > grace+within {
			return "", fmt.Errorf("the run ended %.1f s after SIGTERM, with a grace of %s", took.Seconds(), grace)
		}
		return fmt.Sprintf("ended %.1f s after SIGTERM, with a grace of %s", took.Seconds(), grace), nil
	}
}

// whole checks that n transfers are complete although links were cut during each.
func whole(n int) want {
	return func(_ row, o outcome) (string, error) {
		transfers := said(o.out, "transfer")
		if len(transfers) != n {
			return "", fmt.Errorf("%d of %d transfers ended", len(transfers), n)
		}
		var seen []string
		for _, l := range transfers {
			if l.Same == nil || !*l.Same {
				return "", fmt.Errorf("%s: what arrived differs from what was sent", l.Name)
			}
			cuts := 0
			for _, at := range o.struck {
				if s := float64(at.UnixMicro()) / 1e6; s > l.At && s < l.Until {
					cuts++
				}
			}
			if cuts < 2 {
				return "", fmt.Errorf("%s: %d cuts in its %.1f s", l.Name, cuts, l.Until-l.At)
			}
			seen = append(seen, fmt.Sprintf("%s, %.1f MB, whole after %d cuts in %.0f s", l.Name, float64(l.Bytes)/1e6, cuts, l.Until-l.At))
		}
		if o.report == nil || o.report.Redials < 2*n {
			return "", fmt.Errorf("the launcher's report: %+v", o.report)
		}
		return strings.Join(append(seen, fmt.Sprintf("%d redials", o.report.Redials)), "; "), nil
	}
}
