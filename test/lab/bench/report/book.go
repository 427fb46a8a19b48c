package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Read returns the tables below dir/bench, in their order. None at all is
// fs.ErrNotExist.
func Read(dir string) ([]Table, error) {
	files, err := filepath.Glob(filepath.Join(dir, "bench", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read tables: none below %s: %w", filepath.Join(dir, "bench"), fs.ErrNotExist)
	}
	var all []Table
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read tables: %w", err)
		}
		var t Table
		if err := errors.Join(json.Unmarshal(data, &t), t.check()); err != nil {
			return nil, fmt.Errorf("read tables: %s: %w", file, err)
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Table) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// check finds what would break whoever reads the table.
func (t Table) check() error {
	if t.Name == "" || filepath.Base(t.Name) != t.Name {
		return fmt.Errorf("%q names no file", t.Name)
	}
	for _, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) {
			return fmt.Errorf("row %s %d has %d cells for %d columns", r.Name, r.Size, len(r.Cells), len(t.Columns))
		}
	}
	for _, i := range t.Drawn {
		if i < 0 || i >= len(t.Columns) {
			return fmt.Errorf("drawn column %d of %d", i, len(t.Columns))
		}
	}
	return nil
}

// told is a table as bench.json has it: with what is read out of the samples.
type told struct {
	Table
	Rows []toldRow `json:"rows"`
}

type toldRow struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Cells []Cell `json:"cells"`
}

// Write writes the tables to bench.json of dir: each cell with its samples, their
// median and their ends.
func Write(dir string, all []Table) error {
	var book []told
	for _, t := range all {
		b := told{Table: t}
		for _, r := range t.Rows {
			row := toldRow{Name: r.Name, Size: r.Size}
			for _, samples := range r.Cells {
				row.Cells = append(row.Cells, Of(samples))
			}
			b.Rows = append(b.Rows, row)
		}
		book = append(book, b)
	}
	data, err := json.MarshalIndent(book, "", "\t")
	if err != nil {
		return fmt.Errorf("write bench.json: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bench.json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write bench.json: %w", err)
	}
	return nil
}
