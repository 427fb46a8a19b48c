package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/musterhq/muster/agent/framework"
)

// planFile is a plan as its file has it. Long values of the processes' variables stand there
// once: each of a thousand workers has the addresses of all.
type planFile struct {
	Plan
	Long []string `json:"long,omitempty"`
}

// longMark begins a value that is the place of another in Long. No value of a variable
// can have a NUL.
const longMark = "\x00"

// Encode is the plan as a file for env and hosts; decodePlan reads it.
func (p Plan) Encode() ([]byte, error) {
	file := planFile{Plan: p}
	file.Processes = slices.Clone(p.Processes)
	places := map[string]string{}
	for i, one := range file.Processes {
		file.Processes[i].Vars = slices.Clone(one.Vars)
		for j, v := range one.Vars {
			if len(v.Value) < longAssignment {
				continue
			}
			if places[v.Value] == "" {
				places[v.Value] = longMark + strconv.Itoa(len(file.Long))
				file.Long = append(file.Long, v.Value)
			}
			file.Processes[i].Vars[j].Value = places[v.Value]
		}
	}
	text, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encode plan: %w", err)
	}
	return text, nil
}

// Decode reads a plan's file.
func Decode(text []byte) (Plan, error) {
	var file planFile
	if err := json.Unmarshal(text, &file); err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	for _, one := range file.Processes {
		for j := range one.Vars {
			if err := file.lengthen(&one.Vars[j]); err != nil {
				return Plan{}, fmt.Errorf("read plan: %w", err)
			}
		}
	}
	return file.Plan, nil
}

// lengthen puts a long value back into its variable.
func (f planFile) lengthen(v *framework.Var) error {
	place, long := strings.CutPrefix(v.Value, longMark)
	if !long {
		return nil
	}
	n, err := strconv.Atoi(place)
	if err != nil || n < 0 || n >= len(f.Long) {
		return fmt.Errorf("%s has value %q of %d", v.Name, place, len(f.Long))
	}
	v.Value = f.Long[n]
	return nil
}
