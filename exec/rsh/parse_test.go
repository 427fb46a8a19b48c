package rsh

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		words []string
		want  Request
	}{
		"Open MPI 4": {
			[]string{"job-worker-0", " orted", "-mca", "ess", `"env"`},
			Request{Host: "job-worker-0", Command: ` orted -mca ess "env"`},
		},
		"Open MPI with plm_rsh_args, user and port": {
			[]string{"-o", "ConnectionAttempts=10", "mpi@w-0", "-p", "2222", "orted", "-p", "x"},
			Request{Host: "w-0", User: "mpi", Command: "orted -p x"},
		},
		"Open MPI 5": {
			[]string{"198.18.77.2", "PRTE_PREFIX=/usr;export PRTE_PREFIX;/usr/bin/prted", "--prtemca", "ess", `"env"`},
			Request{Host: "198.18.77.2", Command: `PRTE_PREFIX=/usr;export PRTE_PREFIX;/usr/bin/prted --prtemca ess "env"`},
		},
		"MPICH": {
			[]string{"-x", "w-0", `"/usr/bin/hydra_pmi_proxy"`, "--control-port", "launcher:45997"},
			Request{Host: "w-0", Command: `"/usr/bin/hydra_pmi_proxy" --control-port launcher:45997`},
		},
		"Intel MPI": {
			[]string{"-q", "-x", "w-0", "/opt/hydra_bstrap_proxy", "--upstream-host", "l"},
			Request{Host: "w-0", Command: "/opt/hydra_bstrap_proxy --upstream-host l"},
		},
		"Horovod's host check": {
			[]string{"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "w-0", "-o", "ConnectTimeout=10", "true"},
			Request{Host: "w-0", Command: "true"},
		},
		"Horovod with port and identity": {
			[]string{"-o", "A=b", "w-0", "-p", "22", "-i", "/k", "cd / > /dev/null 2>&1 ; env A=b c"},
			Request{Host: "w-0", Command: "cd / > /dev/null 2>&1 ; env A=b c"},
		},
		"pdsh":                      {[]string{"-oConnectTimeout=10", "-2", "-a", "-x", "w-0", "hostname -I"}, Request{Host: "w-0", Command: "hostname -I"}},
		"the shell probe":           {[]string{"w-0", "echo $SHELL"}, Request{Host: "w-0", Command: "echo $SHELL"}},
		"bundled flags and a value": {[]string{"-xnTp22", "w-0", "a"}, Request{Host: "w-0", NoStdin: true, Command: "a"}},
		"every harmless flag":       {[]string{"-1246AaCgKkMqTtvXxYy", "-tt", "-vvv", "w-0", "a"}, Request{Host: "w-0", Command: "a", Terminal: true}},
		"options after the command": {[]string{"w-0", "a", "-n", "-Z"}, Request{Host: "w-0", Command: "a -n -Z"}},
		"-n after the host":         {[]string{"w-0", "-n", "a"}, Request{Host: "w-0", NoStdin: true, Command: "a"}},
		"-- before the host":        {[]string{"-x", "--", "w-0", "-n", "a"}, Request{Host: "w-0", Command: "-n a"}},
		"-- after the host":         {[]string{"w-0", "-n", "--", "-x", "a"}, Request{Host: "w-0", NoStdin: true, Command: "-x a"}},
		"IPv6 in brackets":          {[]string{"u@[fd00::2]", "a"}, Request{Host: "fd00::2", User: "u", Command: "a"}},
		"IPv6 bare":                 {[]string{"fd00::2", "a"}, Request{Host: "fd00::2", Command: "a"}},
		"user with @":               {[]string{"u@realm@w-0", "a"}, Request{Host: "w-0", User: "u@realm", Command: "a"}},
		"-l and -o User":            {[]string{"-l", "u", "-o", "User=v", "w-0", "a"}, Request{Host: "w-0", User: "v", Command: "a"}},
		"option with a blank":       {[]string{"-o", "StdinNull yes", "w-0", "a"}, Request{Host: "w-0", NoStdin: true, Command: "a"}},
		"pdsh 2.34":                 {[]string{"-oConnectTimeout=10", "-2", "-a", "-x", "-lbob", "w-0", "ls", "-d", "/"}, Request{Host: "w-0", User: "bob", Command: "ls -d /"}},
		"rsync":                     {[]string{"-l", "u", "w-0", "rsync", "--server", "--sender", "-vlogDtpre.iLsfxCIvu", ".", "dir"}, Request{Host: "w-0", User: "u", Command: "rsync --server --sender -vlogDtpre.iLsfxCIvu . dir"}},
		"git":                       {[]string{"-o", "SendEnv=GIT_PROTOCOL", "-p", "22", "w-0", "git-upload-pack '/a b'"}, Request{Host: "w-0", Command: "git-upload-pack '/a b'"}},
		"a URL":                     {[]string{"ssh://u@w-0:2222", "a"}, Request{Host: "w-0", User: "u", Command: "a"}},
		"a URL with IPv6":           {[]string{"ssh://[fd00::2]/", "a"}, Request{Host: "fd00::2", Command: "a"}},
		"a URL with IPv6, port":     {[]string{"ssh://u@[fd00::2]:22", "a"}, Request{Host: "fd00::2", User: "u", Command: "a"}},
		"any option":                {[]string{"-oLocalForward=1 h:2", "-o", "Nonsense yes", "-Fnone", "-J", "jump", "-e", "none", "w-0", "-4", "-A", "a"}, Request{Host: "w-0", Command: "a"}},
		"no command":                {[]string{"-t", "w-0"}, Request{Host: "w-0", Terminal: true}},
		"an empty command":          {[]string{"w-0", ""}, Request{Host: "w-0"}},
		"a command from -o":         {[]string{"-o", "RemoteCommand=uname -a", "w-0"}, Request{Host: "w-0", Command: "uname -a"}},
		"no command from -o":        {[]string{"-oRemoteCommand=none", "w-0", "a"}, Request{Host: "w-0", Command: "a"}},
		"empty words are joined":    {[]string{"w-0", "a", "", "b"}, Request{Host: "w-0", Command: "a  b"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(c.words)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":               "no host given",
		"-x":             "no host given",
		"-s w-0 netconf": `subsystem "netconf" is not supported`,
		"-s w-0":         `subsystem "" is not supported`,
		"ssh:// a":       `"" is not a host name`,
		"ssh://:22 a":    `"" is not a host name`,
		"-G w-0":         "option -G is not supported",
		"-N w-0":         "option -N is not supported",
		"-Z w-0 a":       "unknown option -Z",
		"w-0 -Z a":       "unknown option -Z",
		"--hlep w-0":     "unknown option --hlep",
		"-p":             "option -p needs a value",
		"w-0 -o":         "option -o needs a value",
		"-o Key w-0 a":   "option -o Key has no value",
		"-o =v w-0 a":    "option -o =v has no value",
		"-L 1:h:2 w-0 a": "option -L is not supported",
		"-f w-0 a":       "option -f is not supported",
		"-xN w-0":        "option -N is not supported",
		"u@ a":           `"" is not a host name`,
		"-- -evil a":     `"-evil" is not a host name`,
		"u@-oProxy=x a":  `is not a host name`,
		"[] a":           `"" is not a host name`,
	} {
		_, err := Parse(strings.Fields(line))
		require.ErrorContains(t, err, want, line)
		require.NotContains(t, err.Error(), "\n")
	}
}

// TestParseSFTPSubsystem checks a call of scp and sftp: `ssh -s -- HOST sftp`.
func TestParseSFTPSubsystem(t *testing.T) {
	r, err := Parse(strings.Fields("-x -oPermitLocalCommand=no -oClearAllForwardings=yes -oRemoteCommand=none -oRequestTTY=no -oForwardAgent=no -l u -s -- w-0 sftp"))
	require.NoError(t, err)
	require.Equal(t, "w-0", r.Host)
	require.Equal(t, "u", r.User)
	require.Contains(t, r.Command, "/sftp-server")
}

func TestParseVersionAndHelp(t *testing.T) {
	_, err := Parse([]string{"-V"})
	require.ErrorIs(t, err, ErrVersion)
	for _, word := range []string{"--help", "-h"} {
		_, err = Parse([]string{word})
		require.ErrorIs(t, err, ErrHelp)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-o A=b w-0 -o C=10 true")
	f.Add("-xnp22 u@[fd00::2] -- a b")
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		r, err := Parse(words)
		if err != nil {
			require.Equal(t, Request{}, r)
			return
		}
		require.NotEmpty(t, r.Host)
		require.NotEqual(t, byte('-'), r.Host[0])
		// The command is the unchanged end of the line, unless it comes from an option.
		require.True(t, strings.HasSuffix(line, r.Command) ||
			strings.Contains(strings.ToLower(line), "remotecommand") || strings.Contains(r.Command, "sftp-server"))
	})
}
