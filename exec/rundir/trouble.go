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

// troubleFile lies beside the launcher's socket.
const troubleFile = "trouble"

// SetTrouble leaves word in dir, which is one of Create, of what is wrong with the run, for
// Trouble. It stands until the given time, or, with the zero time, until it is replaced. An
// empty sentence takes it back.
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
	if err := os.WriteFile(path+".new", []byte(end+" "+sentence), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Trouble returns the sentence that the launcher with this socket has left, "" if there is
// none at that time.
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
