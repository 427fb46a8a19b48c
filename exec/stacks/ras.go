//go:build linux

package stacks

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/musterhq/muster/exec/reap"
)

// Limits of the answer of NCCL's RAS.
const (
	mostRAS = 16 << 10 // of its text, in bytes
	rasTime = 2 * time.Second
	rasPort = 28028 // NCCL_RAS_CLIENT_PORT
)

// RAS asks NCCL's RAS service (Reliability, Availability, Serviceability) for the status of the
// job, which each of its processes knows. It asks only a process of procs that has NCCL's library
// and itself listens on the service's port: on the host network, other processes of the machine may
// listen there. It returns nil if there is no such process, or no answer in time.
func RAS(ctx context.Context, procs []reap.Proc) []byte {
	ctx, stop := context.WithTimeout(ctx, rasTime)
	defer stop()
	var maps bytes.Buffer
	for _, p := range procs {
		base := "/proc/" + strconv.Itoa(p.PID)
		if reap.ReadFile(base+"/maps", &maps) != nil || !bytes.Contains(maps.Bytes(), []byte("/libnccl")) || !sameNetwork(base) {
			continue
		}
		at, ok := reap.Listens(p.PID, rasPortOf(p))
		if !ok {
			continue
		}
		if text := askRAS(ctx, at); len(text) > 0 {
			return text
		}
	}
	return nil
}

// sameNetwork reports whether a process has our network namespace.
func sameNetwork(base string) bool {
	ours, err := os.Readlink("/proc/self/ns/net")
	theirs, err2 := os.Readlink(base + "/ns/net")
	return err == nil && err2 == nil && ours == theirs
}

// rasPortOf returns the port in NCCL_RAS_ADDR of a process, or NCCL's default.
func rasPortOf(p reap.Proc) uint16 {
	var buf bytes.Buffer
	if reap.Environ(p.PID, &buf) == nil {
		for record := range strings.SplitSeq(buf.String(), "\x00") {
			value, ok := strings.CutPrefix(record, "NCCL_RAS_ADDR=")
			if !ok {
				continue
			}
			if port, err := strconv.ParseUint(value[strings.LastIndexByte(value, ':')+1:], 10, 16); err == nil {
				return uint16(port)
			}
		}
	}
	return rasPort
}

// askRAS speaks the protocol of NCCL's ncclras: lines of text, and the end of the connection after
// the last one.
func askRAS(ctx context.Context, at netip.AddrPort) []byte {
	switch addr := at.Addr(); {
	case addr.IsUnspecified() && addr.Is4():
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	case addr.IsUnspecified():
		at = netip.AddrPortFrom(netip.IPv6Loopback(), at.Port())
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", at.String())
	if err != nil {
		return nil
	}
	defer c.Close()
	if end, ok := ctx.Deadline(); ok {
		_ = c.SetDeadline(end) // a kernel connection supports deadlines
	}
	defer context.AfterFunc(ctx, func() { c.Close() })() // the caller may end first
	answers := bufio.NewReader(io.LimitReader(c, mostRAS))
	for _, step := range []struct{ say, expect string }{{"CLIENT PROTOCOL 2\n", "SERVER PROTOCOL "}, {"TIMEOUT 1\n", "OK"}} {
		if _, err := io.WriteString(c, step.say); err != nil {
			return nil
		}
		line, err := answers.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, step.expect) {
			return nil // not NCCL's
		}
	}
	if _, err := io.WriteString(c, "STATUS\n"); err != nil {
		return nil
	}
	text, _ := io.ReadAll(answers) // a part is better than none
	return text
}
