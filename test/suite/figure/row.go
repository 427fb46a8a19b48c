package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Row is one figure.
type Row struct {
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Op      string  `json:"op"` // <=, >=, ==; empty: the figure has no bar
	Bar     float64 `json:"bar"`
	Unit    string  `json:"unit"`
	Pass    bool    `json:"pass"`
	Command string  `json:"command"` // the command that measures it
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

// Dir returns the directory of the figures: $MUSTER_OUT, or else out/ of the module that contains the working
// directory.
func Dir() (string, error) {
	if dir := os.Getenv("MUSTER_OUT"); dir != "" {
		return filepath.Abs(dir)
	}
	root, err := Root()
	return filepath.Join(root, "out"), err
}

// Root returns the nearest directory with a go.mod and a cmd directory, from the working directory upward.
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

// Record computes the row's value and pass from its raw numbers, and merges the row by name into SUITE.json. It
// returns the row as written. A row that does not pass is not an error.
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

// Read returns the rows as written.
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

// replace writes a file atomically: a reader sees the old content or the new one.
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

// Keep writes raw numbers to raw/NAME.json below dir, and records the rows computed from them. The Log of each row
// is its key in the raw numbers, or empty for the whole file. It returns the rows as written. A missed bar is not
// an error.
func Keep(dir, command, name string, raw any, rows ...Row) ([]Row, error) {
	log, err := WriteRaw(dir, name, raw)
	if err != nil {
		return nil, err
	}
	var kept []Row
	for _, row := range rows {
		row.Command = command
		if row.Log != "" {
			row.Log = "#" + row.Log
		}
		row.Log = log + row.Log
		row, err := Record(dir, row)
		if err != nil {
			return kept, err
		}
		kept = append(kept, row)
	}
	return kept, nil
}

// Report records rows in Dir, and prints them. It returns an error if a row misses its bar.
func Report(command, name string, raw any, rows ...Row) error {
	dir, err := Dir()
	if err != nil {
		return err
	}
	kept, err := Keep(dir, command, name, raw, rows...)
	for _, row := range kept {
		fmt.Println(row)
	}
	return errors.Join(err, Missed(kept))
}

// Missed returns an error with a line for every row that misses its bar.
func Missed(rows []Row) error {
	var missed error
	for _, row := range rows {
		if !row.Pass {
			missed = errors.Join(missed, fmt.Errorf("%s: %.4g %s misses %s %.4g", row.Name, row.Value, row.Unit, row.Op, row.Bar))
		}
	}
	return missed
}

// String returns the row for a terminal: its value, and its bar if it has one.
func (r Row) String() string {
	line := fmt.Sprintf("%-80s %10.4g %s", r.Name, r.Value, r.Unit)
	if r.Op != "" {
		line += fmt.Sprintf(" (bar %s %.4g)", r.Op, r.Bar)
	}
	return line
}

// Verdict is the result of Check for a row.
type Verdict struct {
	Row
	Faults []string // empty: the row is correct, and passes
}

// Check computes every row again from its raw numbers. A row is faulty if its value or pass differs, if it does not
// pass, or if its raw numbers cannot be read. A wanted name without a row is faulty too.
func Check(dir string, wanted []string) ([]Verdict, error) {
	rows, err := Read(dir)
	if err != nil {
		return nil, err
	}
	var verdicts []Verdict
	var names []string
	for _, row := range rows {
		v := Verdict{Row: row}
		if slices.Contains(names, row.Name) {
			v.Faults = append(v.Faults, "a second row of this name")
		}
		names = append(names, row.Name)
		again := row
		if err := again.fill(dir); err != nil {
			v.Faults = append(v.Faults, err.Error())
		} else {
			if again.Value != row.Value {
				v.Faults = append(v.Faults, fmt.Sprintf("written as %v, the raw numbers give %v", row.Value, again.Value))
			}
			if again.Pass != row.Pass {
				v.Faults = append(v.Faults, fmt.Sprintf("written as pass=%t, the raw numbers give %t", row.Pass, again.Pass))
			}
			if !again.Pass {
				v.Faults = append(v.Faults, "misses the bar")
			}
		}
		verdicts = append(verdicts, v)
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			verdicts = append(verdicts, Verdict{Row: Row{Name: name}, Faults: []string{"no such row"}})
		}
	}
	if len(verdicts) == 0 {
		return nil, fmt.Errorf("check figures: %s/SUITE.json has none", dir)
	}
	return verdicts, nil
}
