//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/musterhq/muster/test/program"
)

// usage is what a process has used so far.
type usage struct {
	PeakMB     float64 // 10^6 bytes of the resident set, at most
	CPUSeconds float64
}

// usageOf reads it.
func usageOf(p *program.Process) (u usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", p.PID())
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return u, err
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return u, err
	}
	return parseUsage(status, stat)
}

// parseUsage reads VmHWM of /proc/PID/status, and utime and stime of /proc/PID/stat (fields 14
// and 15, in hundredths of a second).
func parseUsage(status, stat []byte) (u usage, err error) {
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
