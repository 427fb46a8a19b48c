package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/musterhq/muster/test/suite/figure"
)

// Table is one comparison: a row for each contender and size.
type Table struct {
	Name    string   `json:"name"`  // of its files: "launch"
	Title   string   `json:"title"` // above the table and its picture
	Order   int      `json:"order"` // among the tables, the lowest first
	Over    string   `json:"over"`  // what a row's size counts: "workers"
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Drawn   []int    `json:"drawn"` // indexes of the columns in the picture, a panel for each
	Command string   `json:"command"`
	Notes   []string `json:"notes"` // versions, conditions, what was left out
}

// Column says what its cells are.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Row is one contender at one size. Cells has one list of samples for each
// column, in the order in which they were taken; an empty one: not measured.
type Row struct {
	Name  string      `json:"name"`
	Size  int         `json:"size"`
	Cells [][]float64 `json:"cells"`
}

// Save writes the table to out/bench/NAME.json.
func Save(t Table) error {
	if err := t.check(); err != nil {
		return fmt.Errorf("save table %s: %w", t.Name, err)
	}
	dir, err := figure.Dir()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return fmt.Errorf("save table %s: %w", t.Name, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "bench"), 0o755); err != nil {
		return fmt.Errorf("save table %s: %w", t.Name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bench", t.Name+".json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("save table %s: %w", t.Name, err)
	}
	return nil
}
