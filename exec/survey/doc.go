// Package survey reads what PID 1 can see of its container and node: limits, space, devices,
// versions, and whether a program is there. It starts no program and changes nothing.
//
//	survey.go    [Take] asks for everything
//	limits.go    limits of processes and of the container's cgroup; file systems
//	devices.go   device files, by kind
//	versions.go  versions of drivers and libraries, by files whose names or contents have them
//	python.go    versions of Python and its packages
//	program.go   looks a program up, as a session would
//	names.go     times the name server
//
// What cannot be read is missing in the record. The package judges nothing: agent/check does.
//
// Files below the root of the container are not trusted. A read takes at most a few KiB of a file,
// and never blocks on a FIFO or a device.
package survey
