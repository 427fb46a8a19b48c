package figure

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Series is a list of raw numbers, with the rule that reduces them to one value.
type Series struct {
	Unit    string    `json:"unit"`
	Samples []float64 `json:"samples"`
	// Reduce is median, p99 (by nearest rank), max, min, sum, last, count, ratio or pairs. A ratio is the
	// median of Samples divided by the median of Over. Pairs divide each sample by the one of Over with
	// the same index, and take the median: that depends less on a machine that becomes slower.
	Reduce string    `json:"reduce"`
	Over   []float64 `json:"over,omitempty"`
}

// Value reduces the series. A series without samples has a count, but no other value.
func (s Series) Value() (float64, error) {
	if s.Reduce == "count" {
		return float64(len(s.Samples)), nil
	}
	if len(s.Samples) == 0 {
		return 0, errors.New("no samples")
	}
	switch s.Reduce {
	case "median":
		return Median(s.Samples), nil
	case "p99":
		s := slices.Sorted(slices.Values(s.Samples))
		return s[(99*len(s)+99)/100-1], nil
	case "max":
		return slices.Max(s.Samples), nil
	case "min":
		return slices.Min(s.Samples), nil
	case "last":
		return s.Samples[len(s.Samples)-1], nil
	case "sum":
		var sum float64
		for _, v := range s.Samples {
			sum += v
		}
		return sum, nil
	case "ratio":
		if len(s.Over) == 0 || Median(s.Over) == 0 {
			return 0, errors.New("ratio over nothing")
		}
		return Median(s.Samples) / Median(s.Over), nil
	case "pairs":
		return s.pairs()
	}
	return 0, fmt.Errorf("unknown reduce %q", s.Reduce)
}

func (s Series) pairs() (float64, error) {
	if len(s.Over) != len(s.Samples) {
		return 0, fmt.Errorf("%d samples over %d are not pairs", len(s.Samples), len(s.Over))
	}
	ratios := make([]float64, len(s.Samples))
	for i, v := range s.Samples {
		if s.Over[i] == 0 {
			return 0, errors.New("ratio over nothing")
		}
		ratios[i] = v / s.Over[i]
	}
	return Median(ratios), nil
}

// Median returns the median of samples, which must not be empty.
func Median(samples []float64) float64 {
	s := slices.Sorted(slices.Values(samples))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// WriteRaw writes v as JSON to raw/NAME.json below dir and returns the path for Row.Log.
func WriteRaw(dir, name string, v any) (log string, err error) {
	log = filepath.Join("raw", name+".json")
	return log, Save(dir, log, v)
}

// Save writes v as JSON to NAME below dir, for readers that need more than rows.
func Save(dir, name string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
	}
	if err == nil {
		err = replace(filepath.Join(dir, name), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// measure returns the value at log below dir, and its unit if the raw file has one.
func measure(dir, log string) (value float64, unit string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read raw numbers %s: %w", log, err)
		}
	}()
	path, key, keyed := strings.Cut(log, "#")
	if !filepath.IsLocal(path) {
		return 0, "", errors.New("not below the output directory")
	}
	data, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return 0, "", err
	}
	raw := json.RawMessage(data)
	if keyed {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(data, &members); err != nil {
			return 0, "", err
		}
		var ok bool
		if raw, ok = members[key]; !ok {
			return 0, "", fmt.Errorf("no member %q", key)
		}
	}
	return interpret(raw)
}

func interpret(raw json.RawMessage) (float64, string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return 0, "", err
	}
	switch v := v.(type) {
	case float64:
		return v, "", nil
	case bool:
		if v {
			return 1, "", nil
		}
		return 0, "", nil
	case map[string]any:
		var s Series
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, "", err
		}
		value, err := s.Value()
		return value, s.Unit, err
	}
	return 0, "", errors.New("neither a number nor a series")
}
