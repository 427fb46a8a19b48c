package figure

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		s    Series
		want float64
		err  string
	}{
		{Series{Samples: []float64{3, 1, 2}, Reduce: "median"}, 2, ""},
		{Series{Samples: []float64{4, 1, 2, 3}, Reduce: "median"}, 2.5, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "max"}, 3, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "p99"}, 3, ""},
		{Series{Samples: oneTo(100), Reduce: "p99"}, 99, ""},
		{Series{Samples: oneTo(201), Reduce: "p99"}, 199, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "min"}, 1, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "last"}, 2, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "sum"}, 6, ""},
		{Series{Samples: []float64{3, 1, 2}, Reduce: "count"}, 3, ""},
		{Series{Reduce: "count"}, 0, ""},
		{Series{Samples: []float64{3, 1, 2}, Over: []float64{4, 4, 9}, Reduce: "ratio"}, 0.5, ""},
		{Series{Samples: []float64{1}, Over: []float64{0}, Reduce: "ratio"}, 0, "ratio over nothing"},
		{Series{Samples: []float64{1}, Reduce: "ratio"}, 0, "ratio over nothing"},
		{Series{Samples: []float64{3, 1, 2}, Over: []float64{4, 4, 8}, Reduce: "pairs"}, 0.25, ""},
		{Series{Samples: []float64{3, 1}, Over: []float64{4}, Reduce: "pairs"}, 0, "2 samples over 1"},
		{Series{Samples: []float64{1, 1}, Over: []float64{4, 0}, Reduce: "pairs"}, 0, "ratio over nothing"},
		{Series{Reduce: "max"}, 0, "no samples"},
		{Series{Samples: []float64{1}, Reduce: "mode"}, 0, "unknown reduce"},
	} {
		got, err := c.s.Value()
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.s.Reduce)
	}
}

func TestRecordComputesTheValue(t *testing.T) {
	dir := t.TempDir()
	log, err := WriteRaw(dir, "r", map[string]any{
		"lost": 2, "equal": true, "words": "x",
		"start": Series{Unit: "ms", Samples: []float64{5, 6, 70}, Reduce: "median"},
	})
	require.NoError(t, err)
	for _, c := range []struct {
		row   Row
		value float64
		pass  bool
		err   string
	}{
		{Row{Name: "a", Log: log + "#lost", Op: "==", Bar: 0, Value: 0, Pass: true}, 2, false, ""},
		{Row{Name: "b", Log: log + "#equal", Op: "==", Bar: 1}, 1, true, ""},
		{Row{Name: "c", Log: log + "#start", Op: "<=", Bar: 6}, 6, true, ""},
		{Row{Name: "d", Log: log + "#start", Op: ">=", Bar: 7}, 6, false, ""},
		{Row{Name: "e", Log: log + "#start"}, 6, true, ""},
		{Row{Name: "f", Log: log + "#start", Unit: "s"}, 0, false, "unit"},
		{Row{Name: "g", Log: log + "#start", Op: "<"}, 0, false, "unknown op"},
		{Row{Name: "h", Log: log + "#words"}, 0, false, "neither a number"},
		{Row{Name: "i", Log: log + "#none"}, 0, false, "no member"},
		{Row{Name: "j", Log: "../x.json"}, 0, false, "not below"},
		{Row{Name: "k", Log: "raw/none.json"}, 0, false, "no such file"},
		{Row{Log: log + "#lost"}, 0, false, "no name"},
	} {
		got, err := Record(dir, c.row)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.row.Name)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.value, got.Value, c.row.Name)
		require.Equal(t, c.pass, got.Pass, c.row.Name)
	}
	rows, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, rows, 5, "a row whose value cannot be computed is not recorded")
	require.Equal(t, "ms", rows[2].Unit)
}

func TestRowsOfManyWritersMerge(t *testing.T) {
	dir := t.TempDir()
	log, err := WriteRaw(dir, "r", 1)
	require.NoError(t, err)
	var writers sync.WaitGroup
	for i := range 40 {
		writers.Go(func() {
			_, err := Record(dir, Row{Name: fmt.Sprint(i % 20), Log: log})
			require.NoError(t, err)
		})
	}
	writers.Wait()
	rows, err := Read(dir)
	require.NoError(t, err)
	require.Len(t, rows, 20)
}

func TestCheckFindsEveryFault(t *testing.T) {
	dir := t.TempDir()
	_, err := Check(dir, nil)
	require.ErrorIs(t, err, os.ErrNotExist)
	log, err := WriteRaw(dir, "r", map[string]int{"good": 1, "bad": 9})
	require.NoError(t, err)
	rows := []Row{
		{Name: "true", Value: 1, Op: "<=", Bar: 5, Pass: true, Log: log + "#good"},
		{Name: "missed", Value: 9, Op: "<=", Bar: 5, Pass: false, Log: log + "#bad"},
		{Name: "changed", Value: 2, Op: "<=", Bar: 5, Pass: true, Log: log + "#good"},
		{Name: "claimed", Value: 9, Op: "<=", Bar: 5, Pass: true, Log: log + "#bad"},
		{Name: "lost", Value: 1, Op: "<=", Bar: 5, Pass: true, Log: "raw/gone.json"},
		{Name: "true", Value: 1, Op: "<=", Bar: 5, Pass: true, Log: log + "#good"},
	}
	data, err := json.Marshal(rows)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "SUITE.json"), data, 0o644))
	verdicts, err := Check(dir, []string{"true", "absent"})
	require.NoError(t, err)
	var faults []int
	for _, v := range verdicts {
		faults = append(faults, len(v.Faults))
	}
	require.Equal(t, []int{0, 1, 1, 2, 1, 1, 1}, faults, "%+v", verdicts)
}

func oneTo(n int) (list []float64) {
	for i := range n {
		list = append(list, float64(i+1))
	}
	return list
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	raw := map[string]Series{"a": {Unit: "s", Reduce: "max", Samples: []float64{1, 3}}, "b": {Reduce: "sum", Samples: []float64{0}}}
	kept, err := Keep(dir, "make x", "few", raw, Row{Name: "most", Log: "a", Op: "<=", Bar: 2}, Row{Name: "lost", Log: "b", Op: "=="})
	require.NoError(t, err)
	rows, err := Read(dir)
	require.NoError(t, err)
	require.Equal(t, kept, rows)
	require.Equal(t, Row{Name: "most", Value: 3, Op: "<=", Bar: 2, Unit: "s", Command: "make x", Log: "raw/few.json#a"}, kept[0])
	require.EqualError(t, Missed(kept), "most: 3 s misses <= 2")
	require.Regexp(t, `^most +3 s \(bar <= 2\)$`, kept[0].String())

	kept, err = Keep(dir, "make x", "whole", 7, Row{Name: "shown"})
	require.NoError(t, err)
	require.Equal(t, "raw/whole.json", kept[0].Log)
	require.NoError(t, Missed(kept))
	_, err = Keep(dir, "make x", "few", raw, Row{Name: "none", Log: "c"})
	require.ErrorContains(t, err, `no member "c"`)
}
