package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Row is one figure.
type Row struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Op      string  `json:"op"` // <=, >=, ==; empty: the figure is shown only
	Bar     float64 `json:"bar"`
	Unit    string  `json:"unit"`
	Pass    bool    `json:"pass"`
	Command string  `json:"command"` // that shows it
	Log     string  `json:"log"`     // raw numbers: PATH or PATH#KEY below Dir
}

func (r Row) judge() (bool, error) {
	switch r.Op {
	case "<=":
		return r.Value <= r.Bar, nil
	case ">=":
		return r.Value >= r.Bar, nil
	case "==":
		return r.Value == r.Bar, nil
	case "":
		return true, nil
	}
	return false, fmt.Errorf("unknown op %q", r.Op)
}

// fill computes Value and Pass from the raw numbers.
func (r *Row) fill(dir string) error {
	value, unit, err := measure(dir, r.Log)
	if err != nil {
		return err
	}
	if unit != "" && r.Unit == "" {
		r.Unit = unit
	}
	if unit != "" && r.Unit != unit {
		return fmt.Errorf("unit is %q here and %q in %s", r.Unit, unit, r.Log)
	}
	r.Value = value
	r.Pass, err = r.judge()
	return err
}

// Dir is the directory of the figures: $MUSTER_OUT, else out/ of the module
// that the working directory lies in.
func Dir() (string, error) {
	if dir := os.Getenv("MUSTER_OUT"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := Root()
	return filepath.Join(root, "out"), err
}

// Root is the nearest directory upwards that has a go.mod and a cmd directory.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find module: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		mod, merr := os.Stat(filepath.Join(dir, "go.mod"))
		cmd, cerr := os.Stat(filepath.Join(dir, "cmd", "agent"))
		if merr == nil && cerr == nil && mod.Mode().IsRegular() && cmd.IsDir() {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find module: none above %s", wd)
		}
	}
}

// Record computes the row's value and pass from its raw numbers and merges it
// by name into SUITE.json. It returns the row as written; a row that does not
// pass is no error.
func Record(dir string, row Row) (Row, error) {
	if row.Name == "" {
		return row, errors.New("record figure: no name")
	}
	if err := row.fill(dir); err != nil {
		return row, fmt.Errorf("record %s: %w", row.Name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return row, fmt.Errorf("record %s: %w", row.Name, err)
	}
	unlock, err := lock(filepath.Join(dir, "SUITE.lock"))
	if err != nil {
		return row, fmt.Errorf("record %s: %w", row.Name, err)
	}
	defer unlock()
	rows, err := Read(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return row, err
	}
	found := false
	for i := range rows {
		if rows[i].Name == row.Name {
			rows[i], found = row, true
		}
	}
	if !found {
		rows = append(rows, row)
	}
	data, err := json.MarshalIndent(rows, "", "  ")
	if err == nil {
		err = replace(filepath.Join(dir, "SUITE.json"), append(data, '\n'))
	}
	if err != nil {
		return row, fmt.Errorf("record %s: %w", row.Name, err)
	}
	return row, nil
}

// Read returns the rows as they were written.
func Read(dir string) ([]Row, error) {
	data, err := os.ReadFile(filepath.Join(dir, "SUITE.json"))
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	var rows []Row
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	return rows, nil
}

func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// replace writes a file so that a reader sees the old or the new one whole.
func replace(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
