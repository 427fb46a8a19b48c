//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/musterhq/muster/test/suite/await"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/musterhq/muster/test/suite/proc"
)

// launcherIdle measures the proportional set size of a launcher whose one worker's link
// is up and whose command waits.
func launcherIdle(launcher, dir string) (figure.Series, error) {
	s := figure.Series{Unit: "bytes", Reduce: "max"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return s, err
	}
	began := filepath.Join(dir, "began")
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	pid, err := spawn(launcher, []string{"run", "--fake", "1", "--", "sh", "-c", "echo > " + began + "; exec sleep 600"}, env)
	if err != nil {
		return s, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = await.Until(ctx, 10*time.Millisecond, "the launcher's command", func() (bool, error) {
		_, err := os.Stat(began)
		return err == nil, nil
	})
	for i := 0; i < 20 && err == nil; i++ {
		time.Sleep(100 * time.Millisecond) // the figure is a state over time
		var pss float64
		pss, err = proc.PSS(pid)
		s.Samples = append(s.Samples, pss)
	}
	var ws syscall.WaitStatus
	err = errors.Join(err, syscall.Kill(pid, syscall.SIGTERM)) // it is ours and not collected yet
	_, werr := syscall.Wait4(pid, &ws, 0, nil)                 // its code is that of a signal
	return s, errors.Join(err, werr)
}
