package verdict

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFirstOfItself checks that the first rank is reported only if it is known and ended by itself.
func TestFirstOfItself(t *testing.T) {
	own := RankEnd{Worker: "w", Rank: "1", PID: 71, Code: 1, What: "rank 1"}
	victim := RankEnd{Worker: "w", Rank: "0", PID: 70, Code: 137, Signal: 9, What: "rank 0"}
	for name, c := range map[string]struct {
		e    Evidence
		want bool
	}{
		"one rank failed":        {Evidence{Command: Command{Code: 1}, Ranks: []RankEnd{own, victim}}, true},
		"one rank was killed":    {Evidence{Command: Command{Code: 137}, Ranks: []RankEnd{victim}}, false},
		"the rank has no number": {Evidence{Command: Command{Code: 1}, Ranks: []RankEnd{{Worker: "w", Code: 1, What: "a rank"}}}, false},
		"no rank was seen":       {Evidence{Command: Command{Code: 1}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, known := FirstOfItself(c.e)
			require.Equal(t, c.want, known)
		})
	}
}
