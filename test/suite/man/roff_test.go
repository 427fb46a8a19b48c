package man

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRoff(t *testing.T) {
	for name, row := range map[string]struct{ help, want string }{
		"the launcher's form": {`usage: agent env [FLAGS]

Prints variables.
.dots and 'quotes' begin lines.

  agent env
  eval "$(agent env)"

the cluster
  -n, --namespace NAME   use NAME
                         or not
      --all              all

exit codes
  64   usage error
`, `.TH AGENT-ENV 1 1970-01-01 "Muster v1" "User Commands"
.SH NAME
agent\-env \- print things
.SH SYNOPSIS
agent env [FLAGS]
.SH DESCRIPTION
Prints variables.
\&.dots and 'quotes' begin lines.
.SH OPTIONS
.SS the cluster
.TP
.B \-n, \-\-namespace NAME
use NAME
or not
.TP
.B \-\-all
all
.SH EXIT STATUS
.TP
.B 64
usage error
.SH EXAMPLES
.EX
agent env
eval \(dq$(agent env)\(dq
.EE
.SH SEE ALSO
.BR agent (1),
.BR agent\-run (1)
`},
		"the small binary's form": {`Usage:
  agent env
  agent env NAME

Examples:
  agent env x   for x

Flags:
  -v   log more

Exit codes: 0 it is
over.
`, `.TH AGENT-ENV 1 1970-01-01 "Muster v1" "User Commands"
.SH NAME
agent\-env \- print things
.SH SYNOPSIS
agent env
.br
agent env NAME
.SH OPTIONS
.SS Flags
.TP
.B \-v
log more
.SH EXIT STATUS
0 it is
over.
.SH EXAMPLES
.EX
agent env x   for x
.EE
.SH SEE ALSO
.BR agent (1),
.BR agent\-run (1)
`},
	} {
		p := Page{Name: "agent-env", About: "print things", Version: "v1", At: time.Unix(0, 0), Help: row.help,
			All: []string{"agent", "agent-env", "agent-run"}}
		require.Equal(t, row.want, p.Roff(), name)
	}
}

func TestAbout(t *testing.T) {
	p := Page{Name: "agent-rsh", Help: "usage: agent rsh\n\nRuns a command\non a worker. Then more."}
	require.Contains(t, p.Roff(), "agent\\-rsh \\- runs a command on a worker\n")
}
