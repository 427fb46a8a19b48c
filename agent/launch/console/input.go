//go:build linux

package console

import (
	"io"
	"io/fs"
	"os"
)

// Input is our standard input, for all attempts of a command in the launcher.
type Input struct {
	file  *os.File
	begin int64 // initial offset of a file; -1: it is no file
}

// NewInput records the current offset of standard input.
func NewInput(f *os.File) Input {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		at = -1 // it can be read only once
	}
	return Input{f, at}
}

// Rewind lets the next attempt read what the previous one has read. It cannot rewind a pipe, and
// then warns.
func (in Input) Rewind(v *Voice) {
	info, err := in.file.Stat()
	switch {
	case err != nil: // closed: nothing reads it
	case info.Mode().IsRegular() && in.begin >= 0:
		_, _ = in.file.Seek(in.begin, io.SeekStart) // seeking worked before
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		v.Warn("standard input is a pipe: this attempt cannot read what the previous attempt has read")
		v.Hint("redirect a file, as in <input.dat, so that every attempt reads all of it; </dev/null if the command reads nothing")
	}
}
