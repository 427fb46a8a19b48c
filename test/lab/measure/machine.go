//go:build linux

package measure

import (
	"fmt"

	"github.com/prometheus/procfs"
)

// MachineCPU returns the CPU time of the whole machine in seconds: all time
// except idle and iowait.
func MachineCPU() (float64, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	stat, err := fs.Stat()
	all := stat.CPUTotal
	return all.User + all.Nice + all.System + all.IRQ + all.SoftIRQ + all.Steal, err
}
