package notice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/agent/notice"
)

// TestDeviceError checks that only what broken hardware prints is a device error.
func TestDeviceError(t *testing.T) {
	for line, broken := range map[string]bool{
		"RuntimeError: CUDA error: uncorrectable ECC error encountered":                                true,
		"torch.AcceleratorError: CUDA error: uncorrectable NVLink error detected during the execution": true,
		"cuDevicePrimaryCtxRetain failed: CUDA_ERROR_ECC_UNCORRECTABLE":                                true,
		"HIP error: hipErrorECCNotCorrectable":                                                         true,
		"[12.3] NVRM: Xid (PCI:0000:3b:00): 79, pid=812, GPU has fallen off the bus.":                  true,
		"NVRM: Xid (PCI:0000:3b:00): 48, pid=812, An uncorrectable double bit error (DBE)":             true,
		"NVRM: Xid (0000:03:00): 64, Row remapper: failure":                                            true,
		"NVRM: Xid (PCI:0000:3b:00): 140, pid=1, name=x":                                               true,

		"NVRM: Xid (PCI:0000:3b:00): 13, pid=812, Graphics SM Warp Exception": false,
		"NVRM: Xid (PCI:0000:3b:00): 31, pid=812, MMU Fault":                  false,
		"NVRM: Xid (PCI:0000:3b:00): 43, pid=812, Ch 00000010":                false,
		"NVRM: Xid (PCI:0000:3b:00): 45, pid=812, Ch 00000010":                false,
		"NVRM: Xid (PCI:0000:3b:00): 790, unknown":                            false,
		"Xid 79 is a bad error":                                               false,
		"CUDA error: an illegal memory access was encountered":                false,
		"CUDA error: device-side assert triggered":                            false,
		"CUDA error: hardware stack error":                                    false,
		"torch.cuda.OutOfMemoryError: CUDA out of memory.":                    false,
		"NCCL error: unhandled system error":                                  false,
		"":                                                                    false,
	} {
		want := ""
		if broken {
			want = line
		}
		require.Equal(t, want, notice.DeviceError([]string{"Traceback:", line, "exited"}))
	}
	require.Empty(t, notice.DeviceError(nil))
}
