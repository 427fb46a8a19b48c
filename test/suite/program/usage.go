//go:build linux

package program

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Usage is what a process has used so far.
type Usage struct {
	PeakMB     float64 // 10^6 bytes of the resident set, at most
	CPUSeconds float64
}

// UsageOf reads it for a process that runs.
func UsageOf(pid int) (u Usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return u, fmt.Errorf("read CPU time: %w", err)
	}
	return parseUsage(status, stat)
}

// Usage is the process's so far.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.PID()) }

// parseUsage reads VmHWM of /proc/PID/status, and utime and stime of /proc/PID/stat (fields 14
// and 15, in hundredths of a second).
func parseUsage(status, stat []byte) (u Usage, err error) {
	_, line, found := bytes.Cut(status, []byte("\nVmHWM:"))
	var kib float64
	if _, err := fmt.Sscanf(string(line), "%f kB", &kib); !found || err != nil {
		return u, fmt.Errorf("read memory: no VmHWM: %w", err)
	}
	u.PeakMB = kib * 1024 / 1e6
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from field 3 on
	if len(fields) < 13 {
		return u, errors.New("read CPU time: stat is too short")
	}
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return u, fmt.Errorf("read CPU time: %w", err)
		}
		u.CPUSeconds += ticks / 100
	}
	return u, nil
}
