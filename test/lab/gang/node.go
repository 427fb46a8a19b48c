//go:build linux

package main

const (
	gpu     = "nvidia.com/gpu"
	gpuNode = "node1"
)
