//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
)

// machineCPU is the time in seconds that all processors of the machine have been
// busy, with whatever.
func machineCPU() (float64, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return parseBusy(string(text))
}

// parseBusy adds user, nice, system, irq, softirq and steal of the first line of
// /proc/stat, in hundredths of a second: all but idle and iowait.
func parseBusy(text string) (float64, error) {
	line, _, _ := strings.Cut(text, "\n")
	var user, nice, system, idle, wait, irq, softirq, steal float64
	if _, err := fmt.Sscanf(line, "cpu %f %f %f %f %f %f %f %f", &user, &nice, &system, &idle, &wait, &irq, &softirq, &steal); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return (user + nice + system + irq + softirq + steal) / 100, nil
}
