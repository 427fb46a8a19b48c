//go:build linux

package program

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// Usage is what a process has used so far.
type Usage struct {
	PeakMB     float64 // 10^6 bytes of the resident set, at most
	CPUSeconds float64
}

// UsageOf reads it for a process that runs.
func UsageOf(pid int) (u Usage, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	status, err := p.NewStatus()
	if err != nil {
		return u, fmt.Errorf("read memory: %w", err)
	}
	stat, err := p.Stat()
	if err != nil {
		return u, fmt.Errorf("read CPU time: %w", err)
	}
	return Usage{PeakMB: float64(status.VmHWM) / 1e6, CPUSeconds: stat.CPUTime()}, nil
}

// Usage is the process's so far.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.PID()) }
