package figure

import (
	"fmt"
	"slices"
)

// Verdict is what Check found about a row.
type Verdict struct {
	Row
	Faults []string // empty: the row is true, and passes
}

// Check computes every row again from its raw numbers. A row is faulty when its
// value or pass differ from that, when it does not pass, or when its raw
// numbers cannot be read; so is each wanted name that has no row.
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
