//go:build !linux

package broker

import (
	"errors"
	"io"
	"syscall"
)

func adopt(fd int, _ bool) (io.ReadWriteCloser, error) {
	syscall.Close(fd)
	return nil, errors.New("take descriptor: only on Linux")
}

func isNull(int) bool { return false }
