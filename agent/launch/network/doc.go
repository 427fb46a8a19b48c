// Package network notices when NCCL falls back to sockets although the workers have RDMA devices.
//
// A Watch reads the output of one attempt for the lines that NCCL prints with NCCL_DEBUG=INFO. It
// costs one search for each write of output. NCCL's words are only text: any program may print the
// same, so a Fallback is reported as what NCCL printed.
package network
