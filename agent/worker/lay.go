package worker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/musterhq/muster/exec/rundir"
	"github.com/musterhq/muster/exec/wire"
)

// Lay writes the files of the request on r into a new private directory of this worker, and writes
// the answer to w. The directory is removed when the worker ends the job. Lay returns an error for
// a request that is malformed or too long, for a name with a directory, and if the files cannot be
// written. It runs within a session, so the variables in its answer are those of the session.
func Lay(r io.Reader, w io.Writer) error {
	text, err := io.ReadAll(io.LimitReader(r, wire.MaxLay+1))
	if err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	if len(text) > wire.MaxLay {
		return fmt.Errorf("lay files: more than %d bytes", wire.MaxLay)
	}
	var ask wire.LayRequest
	if err := json.Unmarshal(text, &ask); err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	for _, f := range ask.Files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\x00") {
			return fmt.Errorf("lay files: %q is not a plain file name", f.Name)
		}
	}
	dir, err := rundir.Create()
	if err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	if dir, err = rundir.Laid(dir); err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	for _, f := range ask.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			return errors.Join(fmt.Errorf("lay files: %w", err), os.RemoveAll(dir))
		}
	}
	answer := wire.LayAnswer{Dir: dir, Env: map[string]string{}}
	for _, name := range ask.Ask {
		if value, ok := os.LookupEnv(name); ok {
			answer.Env[name] = value
		}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		return fmt.Errorf("lay files: %w", err)
	}
	return nil
}
