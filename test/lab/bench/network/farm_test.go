//go:build speed

package network

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/musterhq/muster/exec/names"
	"github.com/musterhq/muster/exec/network/listener"
	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/secure"
	"github.com/musterhq/muster/exec/session"
	"github.com/musterhq/muster/exec/wire"
)

// farmVariable makes this program a farm: "FIRST COUNT KEY DIRECTORY".
const farmVariable = "BENCH_FARM"

func podName(i int) string { return fmt.Sprintf("w-%d", i) }
func uidOf(i int) string   { return fmt.Sprintf("uid-%d", i) }

// clockOf returns the path of a worker's FIFO, from which a rank reads what the test says.
func clockOf(dir string, i int) string { return fmt.Sprintf("%s/clock-%d", dir, i) }

// addressOf returns the loopback address of a worker.
func addressOf(i int) string { return fmt.Sprintf("127.%d.%d.%d", 1+i/62500, i/250%250, 1+i%250) }

// farm serves workers until the launcher has told all of them that the job is over, and prints their number.
func farm(config string) error {
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	words := strings.Fields(config)
	first, err := strconv.Atoi(words[0])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	key, err := secure.ReadWorkerKey(words[2])
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	reaper := reap.New()
	servers, cutters, clocks := make([]*session.Server, count), make([]*cutter, count), make([]*os.File, count)
	reaper.OnOrphan = func(pid int, st reap.Status) {
		for _, s := range servers {
			s.Orphaned(pid, st)
		}
	}
	var all sync.WaitGroup
	failed := make(chan error, count+1)
	for i := range servers {
		w, err := newWorker(first+i, key, reaper, words[3])
		if err != nil {
			return err
		}
		servers[i], cutters[i], clocks[i] = w.server, w.cutter, w.clock
		all.Go(func() { failed <- w.server.Serve(ctx, w.socket) })
	}
	all.Go(func() { failed <- reaper.Run(ctx) })
	fmt.Println("ready")
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, s := range servers {
			<-s.Outcome()
		}
	}()
	given := make(chan struct{})
	go func() {
		defer close(given)
		for scan := bufio.NewScanner(os.Stdin); scan.Scan(); {
			var worker int
			if _, err := fmt.Sscanf(scan.Text(), "cut %d", &worker); err == nil {
				cutters[worker-first].cut()
			}
			if word, ok := strings.CutPrefix(scan.Text(), "say "); ok {
				for _, w := range clocks {
					_, _ = w.WriteString(word + "\n") // a rank that ended does not read it
				}
			}
		}
	}()
	select {
	case <-over:
		fmt.Println("over")
		<-given // lanes to other farms
	case <-given:
		err = errors.New("not all workers were told that the job is over")
	}
	stop()
	all.Wait()
	return err
}

type worker struct {
	server *session.Server
	cutter *cutter
	clock  *os.File // a FIFO that a rank can read
	socket *net.UnixListener
}

func newWorker(i int, key secure.WorkerKey, reaper *reap.Reaper, dir string) (w worker, err error) {
	instance, log := wire.NewID(), slog.New(slog.DiscardHandler)
	guard, err := secure.NewGuard(key, "bench", secure.Answer{Worker: podName(i), UID: uidOf(i), Instance: instance})
	if err != nil {
		return w, err
	}
	ln, err := net.Listen("tcp", net.JoinHostPort(addressOf(i), strconv.Itoa(names.NetworkPort)))
	if err != nil {
		return w, err
	}
	if w.socket, err = rundir.Listen(filepath.Join(dir, podName(i))); err != nil {
		return w, err
	}
	clock := clockOf(dir, i)
	if err := syscall.Mkfifo(clock, 0o600); err != nil && !errors.Is(err, syscall.EEXIST) {
		return w, fmt.Errorf("mkfifo: %w", err)
	}
	if w.clock, err = os.OpenFile(clock, os.O_RDWR, 0); err != nil {
		return w, err
	}
	w.cutter = &cutter{Listener: ln, conns: map[net.Conn]bool{}}
	w.server = session.New(session.Config{Job: "bench", Version: "bench", Slots: 1, Dir: "/", Instance: instance, Network: listener.New(w.cutter, guard, log),
		Env: []string{"PATH=/usr/bin:/bin"}, Reaper: reaper, Log: log})
	return w, nil
}
