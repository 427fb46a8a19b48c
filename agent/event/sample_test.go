package event

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSampleIsAnEvent(t *testing.T) {
	want := Sample{OutputBytes: 1 << 60, BufferedBytes: 7, Waiting: map[string]int{"Unschedulable": 2}, Progress: []Number{{"expect 'step (\\d+)'", 1, 1200}}}
	e, err := want.Event(noon, 3)
	require.NoError(t, err)
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var back Event
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, 3, back.Attempt)
	require.Equal(t, noon, back.Time)
	got, ok := SampleOf(back)
	require.True(t, ok)
	require.Equal(t, want, got)
}

func TestSampleOfOtherEvents(t *testing.T) {
	for name, e := range map[string]Event{
		"another kind":   {Kind: Linked, Other: map[string]json.RawMessage{sampleField: []byte("{}")}},
		"no sample":      {Kind: Sampled},
		"a broken field": {Kind: Sampled, Other: map[string]json.RawMessage{sampleField: []byte("[]")}},
	} {
		_, ok := SampleOf(e)
		require.False(t, ok, name)
	}
	_, err := Sample{Progress: []Number{{Value: math.NaN()}}}.Event(noon, 0)
	require.ErrorContains(t, err, "encode sample")
}
