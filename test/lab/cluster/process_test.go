package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	fields := " S 17 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 200"
	for name, tc := range map[string]struct {
		line    string
		command string
		start   uint64
		bad     bool
	}{
		"plain":                 {line: "42 (kubelet)" + fields, command: "kubelet", start: 98765},
		"blank in the name":     {line: "42 (a b)" + fields, command: "a b", start: 98765},
		"brackets in the name":  {line: "42 (x) S 1 (y)" + fields, command: "x) S 1 (y", start: 98765},
		"cut off":               {line: "42 (kubelet) S 17 42", bad: true},
		"no name":               {line: "42 kubelet S", bad: true},
		"start is not a number": {line: "42 (k)" + strings.Replace(fields, "98765", "x", 1), bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat(tc.line)
			if tc.bad {
				if err == nil {
					t.Fatalf("accepted: %+v", got)
				}
				return
			}
			if err != nil || got.command != tc.command || got.start != tc.start || got.parent != 17 || got.state != 'S' {
				t.Fatalf("got %+v, %v", got, err)
			}
		})
	}
}

// TestIdentityIsNotOnlyAPid checks that a process with a reused pid does not count as the first process.
func TestIdentityIsNotOnlyAPid(t *testing.T) {
	me, ok := identify(os.Getpid())
	if !ok || !me.alive() {
		t.Fatal("this process does not count as alive")
	}
	other := identity{me.pid, me.start + 1}
	if other.alive() {
		t.Fatal("a process with another start time counts as this one")
	}
	// Without the check of the start time, this would end the test.
	if err := other.kill(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	for end := time.Now().Add(5 * time.Second); ; {
		if s, err := readStat(cmd.Process.Pid); err == nil && s.state == 'Z' {
			break
		}
		if time.Now().After(end) {
			t.Fatal("no zombie after 5 s")
		}
	}
	if _, ok := identify(cmd.Process.Pid); ok {
		t.Fatal("a zombie counts as alive")
	}
}

func TestRecord(t *testing.T) {
	want, argv := identity{17, 4711}, []string{"/bin/x", "--a=b c", ""}
	i, got, err := parseRecord(want.record(argv))
	if err != nil || i != want || strings.Join(got, "|") != strings.Join(argv, "|") {
		t.Fatalf("got %v %q %v", i, got, err)
	}
	if _, _, err := parseRecord([]byte("junk")); err == nil {
		t.Fatal("accepted junk")
	}
}

// testCluster returns a cluster without Kubernetes, for a component named part.
func testCluster(t *testing.T) cluster {
	c := cluster{dir: t.TempDir()}
	t.Cleanup(func() {
		if err := c.stop("part"); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestStartKeepsARunningComponent(t *testing.T) {
	c := testCluster(t)
	pid := func(argv ...string) int {
		t.Helper()
		if _, err := c.start("part", argv, nil); err != nil {
			t.Fatal(err)
		}
		i, _, ok := c.running("part")
		if !ok {
			t.Fatal("does not run")
		}
		return i.pid
	}
	first := pid("/bin/sleep", "1000")
	if again := pid("/bin/sleep", "1000"); again != first {
		t.Fatalf("the same command line was restarted: %d, %d", first, again)
	}
	if other := pid("/bin/sleep", "1001"); other == first {
		t.Fatal("another command line was not started")
	}
	if _, ok := identify(first); ok {
		t.Fatal("the first process is still running")
	}
	if err := c.stop("part"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := c.running("part"); ok {
		t.Fatal("runs after stop")
	}
}

func TestEndKillsAProcessThatIgnoresTERM(t *testing.T) {
	c := testCluster(t)
	if _, err := c.start("part", []string{"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1000; done"}, nil); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, c, "ready")
	i, _, _ := c.running("part")
	if err := i.end(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if i.alive() {
		t.Fatal("still alive after end")
	}
}

func TestAwaitNamesTheEndedComponent(t *testing.T) {
	c := testCluster(t)
	if _, err := c.start("part", []string{"/bin/sh", "-c", "echo no such file: the-reason; exit 3"}, nil); err != nil && !strings.Contains(err.Error(), "part has ended") {
		t.Fatal(err)
	}
	awaitLog(t, c, "the-reason")
	err := c.await("readiness", time.Minute, func() error { return os.ErrNotExist }, "part")
	if err == nil || !strings.Contains(err.Error(), "part has ended") || !strings.Contains(err.Error(), "the-reason") {
		t.Fatalf("got %v", err)
	}
}

func TestAwaitNamesTheCondition(t *testing.T) {
	c := testCluster(t)
	if _, err := c.start("part", []string{"/bin/sh", "-c", "echo still busy; exec sleep 1000"}, nil); err != nil {
		t.Fatal(err)
	}
	awaitLog(t, c, "busy")
	err := c.await("part answers", 100*time.Millisecond, func() error { return os.ErrDeadlineExceeded }, "part")
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"part answers", "100ms", os.ErrDeadlineExceeded.Error(), "still busy"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

func awaitLog(t *testing.T, c cluster, text string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if log, _ := os.ReadFile(c.logFile("part")); strings.Contains(string(log), text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%q is not in the log after 5 s", text)
		}
	}
}

// TestStartPassesNoDescriptorOn checks that a component does not inherit descriptors that the caller inherited.
func TestStartPassesNoDescriptorOn(t *testing.T) {
	pipe := make([]int, 2)
	if err := syscall.Pipe(pipe); err != nil { // without O_CLOEXEC, like an inherited descriptor
		t.Fatal(err)
	}
	reader := os.NewFile(uintptr(pipe[0]), "reader")
	defer reader.Close()
	c := cluster{dir: t.TempDir()}
	if _, err := c.start("sleeper", []string{"/bin/sleep", "60"}, nil); err != nil {
		t.Fatal(err)
	}
	defer c.stop("sleeper")
	if err := syscall.Close(pipe[1]); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := reader.Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case <-ended: // EOF: the other end is closed everywhere
	case <-time.After(5 * time.Second):
		t.Error("the started program holds a descriptor of this process")
	}
}
