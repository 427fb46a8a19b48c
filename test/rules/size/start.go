//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/rsh"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/test/suite/figure"
	"github.com/prometheus/procfs"
)

// spawn forks without os/exec, whose goroutines would be measured too.
func spawn(path string, args, env []string, files ...*os.File) (int, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer null.Close()
	fds := []uintptr{null.Fd(), null.Fd(), os.Stderr.Fd()}
	for i, f := range files {
		fds[i] = f.Fd()
	}
	pid, err := syscall.ForkExec(path, append([]string{"agent"}, args...), &syscall.ProcAttr{Env: append([]string{}, env...), Files: fds})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", path, err)
	}
	return pid, nil
}

// ended waits for pid, which must exit with 0.
func ended(pid int) error {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err == nil && (!ws.Exited() || ws.ExitStatus() != 0) {
			err = fmt.Errorf("pid %d ended with status %#x", pid, int(ws))
		}
		return err
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// startTimes measures fork to exit of `agent version`. over has the same of the floor, started in turn.
func startTimes(agent, floor string) (figure.Series, error) {
	s := figure.Series{Unit: "ms", Reduce: "median"}
	for range runs {
		took, err := startAndEnd(agent, "version")
		if err != nil {
			return s, err
		}
		least, err := startAndEnd(floor)
		if err != nil {
			return s, err
		}
		s.Samples = append(s.Samples, milliseconds(took))
		s.Over = append(s.Over, milliseconds(least))
	}
	return s, nil
}

func startAndEnd(path string, args ...string) (time.Duration, error) {
	begin := time.Now()
	pid, err := spawn(path, args, nil)
	if err == nil {
		err = ended(pid)
	}
	return time.Since(begin), err
}

// waiting is a program that has sent its request and waits for the answer.
type waiting struct {
	took      time.Duration // from before fork to the last byte of the request
	now, peak float64       // bytes of memory
}

// stubs measures `agent rsh` and, in turn, the floor. The samples of the start have the floor's beside them.
func stubs(agent, floor, dir string) (start, rss, peak figure.Series, err error) {
	start = figure.Series{Unit: "ms", Reduce: "median"}
	rss = figure.Series{Unit: "bytes", Reduce: "median"}
	peak = figure.Series{Unit: "bytes", Reduce: "max"}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return start, rss, peak, err
	}
	socket := filepath.Join(dir, names.BrokerSocket)
	l, err := rundir.Listen(socket)
	if err != nil {
		return start, rss, peak, err
	}
	defer l.Close()
	for range runs {
		stub, err := request(l, agent, []string{"rsh", "worker-3", "orted", "--daemonize"}, names.EnvDir+"="+dir)
		if err != nil {
			return start, rss, peak, fmt.Errorf("stub: %w", err)
		}
		least, err := request(l, floor, []string{socket})
		if err != nil {
			return start, rss, peak, fmt.Errorf("floor: %w", err)
		}
		start.Samples = append(start.Samples, milliseconds(stub.took))
		start.Over = append(start.Over, milliseconds(least.took))
		rss.Samples = append(rss.Samples, stub.now)
		peak.Samples = append(peak.Samples, stub.peak)
	}
	return start, rss, peak, nil
}

// request starts a program that sends one request to l, and lets it end.
func request(l *net.UnixListener, path string, args []string, env ...string) (w waiting, err error) {
	begin := time.Now()
	pid, err := spawn(path, args, env)
	if err != nil {
		return w, err
	}
	defer func() {
		if err != nil {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the process is our child and not reaped yet
		}
		err = errors.Join(err, ended(pid))
	}()
	if err := l.SetDeadline(begin.Add(20 * time.Second)); err != nil {
		return w, err
	}
	conn, err := l.Accept()
	if err != nil {
		return w, err
	}
	defer conn.Close()
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return w, err
	}
	if _, err := io.ReadFull(conn, make([]byte, binary.BigEndian.Uint32(size[:]))); err != nil {
		return w, err
	}
	w.took = time.Since(begin)
	if err := asleep(pid); err != nil {
		return w, err
	}
	p, err := procfs.NewProc(pid)
	if err != nil {
		return w, err
	}
	status, err := p.NewStatus()
	if err != nil {
		return w, err
	}
	w.now, w.peak = float64(status.VmRSS), float64(status.VmHWM)
	_, err = conn.Write(rsh.AppendReply(nil, rsh.Reply{}))
	return w, err
}

// asleep polls until every thread of pid waits in the kernel and has not run for 20 ms. In a Go program, the first
// thread may wait while another one works.
func asleep(pid int) error {
	before := ""
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		now, err := waits(pid)
		if err != nil {
			return err
		}
		if now != "" && now == before {
			return nil
		}
		before = now
	}
	return fmt.Errorf("pid %d did not become idle", pid)
}

// waits returns the processor times of pid's threads, or "" while one of them runs.
func waits(pid int) (string, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return "", err
	}
	all := ""
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		if err != nil {
			return "", err
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 || fields[0] != "S" {
			return "", nil
		}
		switches, err := os.ReadFile(filepath.Join(filepath.Dir(thread), "schedstat"))
		if err != nil {
			return "", err
		}
		all += thread + " " + string(switches)
	}
	return all, nil
}
