package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/musterhq/muster/test/suite/figure"
)

// Table is one comparison: a row for each contender and size.
type Table struct {
	Name    string   `json:"name"`  // base name of its files: "launch"
	Title   string   `json:"title"` // above the table and its picture
	Order   int      `json:"order"` // position among the tables, the lowest first
	Over    string   `json:"over"`  // the quantity that a row's size counts: "workers"
	Columns []Column `json:"columns"`
	Rows    []Row    `json:"rows"`
	Drawn   []int    `json:"drawn"` // indexes of the columns in the picture, a panel for each
	Command string   `json:"command"`
	Notes   []string `json:"notes"` // versions, conditions, omissions
}

// Column describes the cells of a column.
type Column struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Row is one contender at one size. Cells has one list of samples for each
// column, in the order in which they were taken; a column that was not measured has an empty list.
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

// Cell summarizes the samples of one cell. Without samples the numbers
// are meaningless.
type Cell struct {
	Samples []float64 `json:"samples"`
	Median  float64   `json:"median"`
	Min     float64   `json:"min"`
	Max     float64   `json:"max"`
}

// Of returns the summary of samples.
func Of(samples []float64) Cell {
	c := Cell{Samples: samples}
	n := len(samples)
	if n == 0 {
		return c
	}
	s := slices.Sorted(slices.Values(samples))
	c.Median, c.Min, c.Max = (s[(n-1)/2]+s[n/2])/2, s[0], s[n-1]
	return c
}

// String returns the median, and the minimum and maximum unless both are within half a percent of it.
// It returns "-" if there are no samples.
func (c Cell) String() string {
	if len(c.Samples) == 0 {
		return "-"
	}
	if most := 0.005 * math.Abs(c.Median); c.Max-c.Median <= most && c.Median-c.Min <= most {
		return Number(c.Median)
	}
	return Number(c.Median) + " (" + Number(c.Min) + " to " + Number(c.Max) + ")"
}

// Number formats v with three significant digits, or with all digits before the point, and a comma for thousands.
func Number(v float64) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 1000 {
		digits = min(9, max(0, 2-int(math.Floor(math.Log10(a)))))
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	sign, s := s[:len(s)-len(strings.TrimPrefix(s, "-"))], strings.TrimPrefix(s, "-")
	whole, rest, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// Text returns the table for a terminal: median, minimum and maximum of each cell, with the notes below.
func (t Table) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", t.Name, t.Title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range t.lines() {
		fmt.Fprintln(w, "  "+strings.Join(line, "\t"))
	}
	_ = w.Flush() // it writes to memory
	for _, n := range t.Notes {
		b.WriteString("  " + n + "\n")
	}
	return b.String()
}

// Markdown returns the same table for a page, without title and notes.
func (t Table) Markdown() string {
	var b strings.Builder
	for i, line := range t.lines() {
		for j := range line {
			line[j] = strings.ReplaceAll(line[j], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(line, " | ") + " |\n")
		if i == 0 {
			b.WriteString("|---" + strings.Repeat("|---:", len(line)-1) + "|\n")
		}
	}
	return b.String()
}

// lines returns the header and the rows. There is a column of sizes if at least one row has a size.
func (t Table) lines() [][]string {
	sized := false
	for _, r := range t.Rows {
		sized = sized || r.Size != 0
	}
	head := []string{""}
	if sized {
		head = append(head, t.Over)
	}
	for _, c := range t.Columns {
		head = append(head, c.Label())
	}
	all := [][]string{head}
	for _, r := range t.Rows {
		line := []string{r.Name}
		switch {
		case sized && r.Size == 0:
			line = append(line, "")
		case sized:
			line = append(line, Number(float64(r.Size)))
		}
		for _, samples := range r.Cells {
			line = append(line, Of(samples).String())
		}
		all = append(all, line)
	}
	return all
}

// Label returns the column's name with its unit, unless the name contains the unit.
func (c Column) Label() string {
	words := strings.FieldsFunc(c.Name, func(r rune) bool { return r == ' ' || r == ',' })
	if c.Unit == "" || slices.Contains(words, c.Unit) {
		return c.Name
	}
	return c.Name + ", " + c.Unit
}

// Read returns the tables below dir/bench, in their order. If there are none,
// the error is fs.ErrNotExist.
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

// check reports errors in the table that would break its readers.
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

// summarized is a table as bench.json stores it: with a summary of each cell.
type summarized struct {
	Table
	Rows []summarizedRow `json:"rows"`
}

type summarizedRow struct {
	Name  string `json:"name"`
	Size  int    `json:"size"`
	Cells []Cell `json:"cells"`
}

// Write writes the tables to bench.json in dir: each cell with its samples, and their
// median, minimum and maximum.
func Write(dir string, all []Table) error {
	var book []summarized
	for _, t := range all {
		b := summarized{Table: t}
		for _, r := range t.Rows {
			row := summarizedRow{Name: r.Name, Size: r.Size}
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
