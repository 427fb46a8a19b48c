package rundir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// troubleFile is in the directory of the launcher's socket.
const troubleFile = "trouble"

// SetTrouble records in dir (from Create) what is wrong with the run; Trouble reads it. The
// sentence is valid until the given time or, if that is zero, until the next one. An empty sentence
// removes it.
func SetTrouble(dir, sentence string, until time.Time) error {
	path := filepath.Join(dir, troubleFile)
	if sentence == "" {
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	end := "0"
	if !until.IsZero() {
		end = strconv.FormatInt(until.Unix(), 10)
	}
	return replace(path, end+" "+sentence)
}

// Trouble returns the sentence that the launcher with this socket has recorded, or "" if none is
// valid at that time.
func Trouble(socket string, now time.Time) (string, error) {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(socket), troubleFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	end, sentence, _ := strings.Cut(string(text), " ")
	if until, _ := strconv.ParseInt(end, 10, 64); until != 0 && until < now.Unix() {
		return "", nil
	}
	return sentence, err
}
