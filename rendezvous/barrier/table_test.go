package barrier

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/deflate"
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
		packed, err := table.Pack()
		require.NoError(t, err, name)
		text, err := json.Marshal(Order{Phase: PhaseRun, Table: packed})
		require.NoError(t, err, name)
		var o Order
		require.NoError(t, json.Unmarshal(text, &o), name)
		got, err := o.Table.Unpack()
		require.NoError(t, err, name)
		require.Equal(t, table, got, name)
	}
	_, err := Table{{Rank: 1}}.Pack()
	require.ErrorContains(t, err, "rank 1 is at place 0")
	_, err = Table{{Name: strings.Repeat("x", mostTable)}}.Pack()
	require.ErrorContains(t, err, "at most 8388608")
	_, err = Packed("no deflated text").Unpack()
	require.ErrorContains(t, err, "decode the table of members: inflate: ")
	bomb, err := deflate.Pack(make([]byte, mostTable+1))
	require.NoError(t, err)
	_, err = Packed(bomb).Unpack()
	require.ErrorContains(t, err, "more than 8388608 bytes")
}

func TestInvalidTable(t *testing.T) {
	for text, want := range map[string]string{
		"a b c;":            "line 0: want 8 fields",
		"a b c x e   i;":    "line 0: its slots are not a number",
		"a b c 1 e   i;x;":  "line 1: want 8 fields",
		"a b c 1 e   i j;":  "line 0: want 8 fields",
		"a b c 1 e   i;a b": "line 1: want 8 fields",
	} {
		_, err := tableOf(text)
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzTable(f *testing.F) {
	f.Add("a b c 1 e 1 1 i;")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := tableOf(text)
		if err != nil {
			return
		}
		for _, c := range table {
			for _, word := range []string{c.Name, c.Host, c.Address, c.Interface, c.Instance} {
				if !bare(word) {
					return // a member with such a name gets no seat
				}
			}
		}
		again, err := table.lines()
		require.NoError(t, err)
		other, err := tableOf(string(again))
		require.NoError(t, err)
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
