//go:build linux

package main

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// machineCPU is the time in seconds that all processors of the machine have been
// busy, with whatever: all but idle and iowait.
func machineCPU() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	stat, err := fs.Stat()
	all := stat.CPUTotal
	return all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal, err
}
