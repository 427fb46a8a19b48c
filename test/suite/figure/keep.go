package figure

import (
	"errors"
	"fmt"
)

// Keep writes raw numbers to raw/NAME.json below dir, and records the rows that are computed from
// them: the Log of each is its key there, or empty for the file as a whole. It returns the rows as
// they were written; a missed bar is no error.
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

// Report keeps rows in Dir, and prints them. A row that misses its bar is an error.
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

// Missed is an error with a line for every row that misses its bar.
func Missed(rows []Row) error {
	var missed error
	for _, row := range rows {
		if !row.Pass {
			missed = errors.Join(missed, fmt.Errorf("%s: %.4g %s misses %s %.4g", row.Name, row.Value, row.Unit, row.Op, row.Bar))
		}
	}
	return missed
}

// String is the row for a terminal: its value, and its bar if it has one.
func (r Row) String() string {
	line := fmt.Sprintf("%-80s %10.4g %s", r.Name, r.Value, r.Unit)
	if r.Op != "" {
		line += fmt.Sprintf(" (bar %s %.4g)", r.Op, r.Bar)
	}
	return line
}
