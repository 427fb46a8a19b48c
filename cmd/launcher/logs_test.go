//go:build linux

package main

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/test/suite/await"
)

// TestUnreadLogsEndBySignals checks that signals end agent logs while it waits to write, as into a pager that shows
// another page.
func TestUnreadLogsEndBySignals(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.employ("pi", true)
	o.logs.Write("lab", "pi-launcher", "main", time.Now(), strings.Repeat("x", 1<<20)+"\n")
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, o.configure(kubeconfig))
	unread, out, err := os.Pipe()
	require.NoError(t, err)
	defer unread.Close()
	cmd := osexec.Command(filepath.Join(bin, "agent"), "logs", "-f", "pi", "--kubeconfig", kubeconfig)
	cmd.Stdout = out
	require.NoError(t, cmd.Start())
	require.NoError(t, out.Close())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it ends by a signal
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.NoError(t, await.Until(ctx, 10*time.Millisecond, "a filled pipe", func() (bool, error) {
		waiting, err := unix.IoctlGetInt(int(unread.Fd()), unix.TIOCINQ)
		return waiting > 1<<15, err // the line is longer than a pipe holds
	}))
	for {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		select {
		case <-ended:
			require.Equal(t, syscall.SIGINT, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
			return
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			require.NoError(t, cmd.Process.Kill())
			<-ended
			t.Fatal("no signal ended it")
		}
	}
}
