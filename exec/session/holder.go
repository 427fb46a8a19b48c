//go:build linux

package session

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/musterhq/muster/exec/reap"
	"github.com/musterhq/muster/exec/wire"
)

// tellHolder reports which process still holds the output of a session whose first process has
// ended, and returns that process. It does not report the process told again. It reports nothing if
// it finds none: the process may belong to another user.
func (x *session) tellHolder(told being) being {
	holder, ok := x.holder()
	now := being{holder.PID, holder.Start}
	if !ok || now == told {
		return told
	}
	x.srv.mu.Lock()
	defer x.srv.mu.Unlock()
	if x.lasts() {
		x.srv.observer.report(x, wire.ReportRecord{Kind: wire.ReportHeld, PID: holder.PID, Command: holder.Comm})
	}
	return now
}

// holder returns the oldest process of the session that has one of its output pipes open.
func (x *session) holder() (oldest reap.Proc, ok bool) {
	x.srv.mu.Lock()
	pipes := x.pipes
	x.srv.mu.Unlock()
	links := map[string]bool{}
	for _, f := range []*os.File{pipes.stdout, pipes.stderr} {
		if link := linkOf(f); link != "" {
			links[link] = true
		}
	}
	members, err := x.tree.Find()
	if err != nil {
		return oldest, false
	}
	for _, p := range members {
		if p.Alive() && !p.Exiting && holds(p.PID, links) && (!ok || p.Start < oldest.Start) {
			oldest, ok = p, true
		}
	}
	return oldest, ok
}

// linkOf returns what /proc/PID/fd shows for a pipe, or "" once it is closed.
func linkOf(f *os.File) (link string) {
	raw, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	var st unix.Stat_t
	if cerr := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); cerr != nil || err != nil {
		return ""
	}
	return "pipe:[" + strconv.FormatUint(st.Ino, 10) + "]"
}

// terminal represents every terminal among links: the name of a terminal does not say which process
// has the other end.
const terminal = "/dev/pts/"

// holds reports whether a process has one of the links open.
func holds(pid int, links map[string]bool) bool {
	return slices.ContainsFunc(openLinks(pid), func(link string) bool {
		return links[link] || links[terminal] && strings.HasPrefix(link, terminal)
	})
}

// openLinks lists what a process has open, as /proc/PID/fd shows it. It returns nothing for a
// process of another user, or one that has ended.
func openLinks(pid int) (links []string) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			links = append(links, link)
		}
	}
	return links
}
