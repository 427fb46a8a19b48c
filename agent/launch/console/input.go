//go:build linux

package console

import (
	"io"
	"io/fs"
	"os"
)

// Input is our standard input, as the attempts of a command in the launcher have it.
type Input struct {
	file  *os.File
	begin int64 // of a file: where it stood
}

// NewInput notes where standard input stands now.
func NewInput(f *os.File) Input {
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		at = -1 // it can be read once
	}
	return Input{f, at}
}

// Rewind lets another attempt read what the one before has read. Of a pipe it
// cannot, and says so.
func (in Input) Rewind(v *Voice) {
	info, err := in.file.Stat()
	switch {
	case err != nil: // closed: nobody reads it
	case info.Mode().IsRegular() && in.begin >= 0:
		_, _ = in.file.Seek(in.begin, io.SeekStart) // it could be done before
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0:
		v.Warn("standard input is a pipe: what the last attempt has read of it is gone")
		v.Hint("from a file, as in <input.dat, every attempt reads all of it; </dev/null where nothing is read")
	}
}
