package notice

import (
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/lazyregexp"
)

// brokenDevice has the words that CUDA, HIP and the driver use only for broken hardware. Illegal
// accesses, asserts, full memory and "hardware stack error" are missing because programs cause them.
var brokenDevice = []string{
	"uncorrectable ECC error", "CUDA_ERROR_ECC_UNCORRECTABLE", "cudaErrorECCUncorrectable", "hipErrorECCNotCorrectable",
	"uncorrectable NVLink error", "CUDA_ERROR_NVLINK_UNCORRECTABLE", "cudaErrorNvlinkUncorrectable",
	"has fallen off the bus",
}

// xid matches the driver's report of an error: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, ...
var xid = lazyregexp.New(`NVRM: Xid \([^)]*\): (\d{1,4})\b`)

// hardwareXids are errors that NVIDIA's catalog ascribes to hardware, and not to the application
// (https://docs.nvidia.com/deploy/xid-errors). They are:
//
//   - memory: 48, 63, 64, 92, 94, 95, 140
//   - NVLink: 74
//   - the bus: 79
//   - the GPU's own processor: 119, 120
//
// Some of them ask only for a restart of the process, so that one alone says little about a node.
// Others stay out: 13, 31, 43 and 45 are the application's, and many are ambiguous.
var hardwareXids = []int{48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140}

// DeviceError returns the first of the lines that reports a broken device, or "" if there is none.
// Any program may print the same text.
func DeviceError(lines []string) string {
	for _, line := range lines {
		if slices.ContainsFunc(brokenDevice, func(words string) bool { return strings.Contains(line, words) }) {
			return line
		}
		for _, m := range xid().FindAllStringSubmatch(line, -1) {
			if n, err := strconv.Atoi(m[1]); err == nil && slices.Contains(hardwareXids, n) {
				return line
			}
		}
	}
	return ""
}
