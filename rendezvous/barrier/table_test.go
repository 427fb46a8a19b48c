package barrier

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTableIsReadAsItWasWritten(t *testing.T) {
	for name, table := range map[string]Table{
		"whole": {
			{Name: "job-0", Host: "job-0.svc", Address: "10.1.2.3", Slots: 8, Interface: "eth0", NoGPU: true, NoRDMA: true, Instance: "a"},
			{Rank: 1, Name: "job-1", Address: "fd00::1", Instance: "b"},
		},
		"only ranks": {{}, {Rank: 1}},
		"empty":      {},
	} {
		text, err := json.Marshal(Order{Phase: PhaseRun, Table: table})
		require.NoError(t, err, name)
		var o Order
		require.NoError(t, json.Unmarshal(text, &o), name)
		require.ElementsMatch(t, table, o.Table, name)
	}
	_, err := json.Marshal(Table{{Rank: 1}})
	require.ErrorContains(t, err, "rank 1 is at place 0")
}

func TestInvalidTable(t *testing.T) {
	for text, want := range map[string]string{
		`1`:                   "cannot unmarshal number",
		`"a b c;"`:            "line 0: want 8 fields",
		`"a b c x e   i;"`:    "line 0: its slots are not a number",
		`"a b c 1 e   i;x;"`:  "line 1: want 8 fields",
		`"a b c 1 e   i j;"`:  "line 0: want 8 fields",
		`"a b c 1 e   i;a b"`: "line 1: want 8 fields",
	} {
		var table Table
		require.ErrorContains(t, json.Unmarshal([]byte(text), &table), want, text)
	}
}

func FuzzTable(f *testing.F) {
	f.Add(`"a b c 1 e 1 1 i;"`)
	f.Fuzz(func(t *testing.T, text string) {
		var table Table
		if json.Unmarshal([]byte(text), &table) != nil {
			return
		}
		for _, c := range table {
			for _, word := range []string{c.Name, c.Host, c.Address, c.Interface, c.Instance} {
				if !bare(word) {
					return // a member with such a name gets no seat
				}
			}
		}
		again, err := json.Marshal(table)
		require.NoError(t, err)
		var other Table
		require.NoError(t, json.Unmarshal(again, &other))
		require.Equal(t, table, other)
	})
}

// TestInvalidCards checks that a member with names that do not fit into the table gets no seat.
func TestInvalidCards(t *testing.T) {
	h := serve(t, 2, nil)
	for _, c := range []Card{
		{Rank: 1, Size: 2, Name: "job 1", Instance: "x"},
		{Rank: 1, Size: 2, Name: "job-1", Address: "10.0.0.1;", Instance: "x"},
		{Rank: 1, Size: 2, Name: "job-1", Host: "a\nb", Instance: "x"},
		{Rank: 1, Size: 2, Name: `job"1`, Instance: "x"},
	} {
		var refusal *Refusal
		require.ErrorAs(t, <-join(t, h.address, c, secret).end, &refusal)
		require.Contains(t, refusal.Text, "rank 1 has a name with invalid characters")
	}
	h.close()
}
