package messages

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPattern(t *testing.T) {
	for format, want := range map[string]string{
		"no such host: %q":                 "no such host: …",
		"%s has %d of %d slots":            "… has … of … slots",
		"%6.2f%% of %-10s is %[1]v":        "…% of … is …",
		"two\n\tlines":                     "two lines",
		"--restart-codes=%s takes numbers": "--restart-codes=… takes numbers",
	} {
		require.Equal(t, want, Pattern(format))
	}
}

func TestCollect(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "exec", "a.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "agent"), 0o700))
	for _, dir := range []string{"cmd", "rendezvous", "hostfile"} {
		require.NoError(t, os.Mkdir(filepath.Join(root, dir), 0o700))
	}
	require.NoError(t, os.WriteFile(path, []byte(`package a

// +kubebuilder:validation:XValidation:rule="self.a > 0",message="give a worker"
type T int

var e = errors.New("the link" + " is lost")

func f() error {
	l.Warn("output is dropped", 3)
	m.Info("this is news")
	v.Say("waiting for %s: %s", w, d)
	why := fmt.Sprintf("worker %s lost: %s", w, err)
	_ = failure.Usage("hint: nothing to do", "--a=%s is no number", a)
	_ = failure.New(70, "report it", "it broke: %d", 1)
	_ = fmt.Errorf("read %s: %w", a, err)
	_ = fmt.Errorf("%s: %w", a, err)
	_ = errors.New(name + " has no " + "log")
	_ = fmt.Errorf("unknown flag: %s", a)
	_ = &obstacle{reason, fmt.Sprintf("%d workers are too many", n)}
	_ = obstacle{}
	l.Warn(fmt.Sprintf("--b=%s is too long", b))
	_ = &Refusal{Code: 64, Text: "no rank " + name + " here"}
	_ = &hinted{"option -%: no such thing", "omit it"}
	_ = &hinted{"%c " + name, "names no words"}
	r.Sentence = fmt.Sprintf("%s: the pod ended", name)
	return fmt.Errorf(text, err)
}

func (e *lost) Error() string { return "worker " + e.name + " is lost: " + e.why }

func (e *lost) Other() string { return "worker " + e.name + " was lost here" }
`), 0o600))
	all, err := Collect(root)
	require.NoError(t, err)
	require.Equal(t, []Message{
		{"give a worker", "exec/a.go:3", false},
		{"the link is lost", "exec/a.go:6", false},
		{"output is dropped", "exec/a.go:9", false},
		{"waiting for …: …", "exec/a.go:11", true},
		{"worker … lost: …", "exec/a.go:12", true},
		{"--a=… is no number", "exec/a.go:13", false},
		{"it broke: …", "exec/a.go:14", true},
		{"read …: …", "exec/a.go:15", true},
		{"…: …", "exec/a.go:16", true},
		{"… has no log", "exec/a.go:17", false},
		{"unknown flag: …", "exec/a.go:18", false},
		{"… workers are too many", "exec/a.go:19", false},
		{"… workers are too many", "exec/a.go:19", true},
		{"--b=… is too long", "exec/a.go:21", false},
		{"--b=… is too long", "exec/a.go:21", true},
		{"no rank … here", "exec/a.go:22", false},
		{"option -%: no such thing", "exec/a.go:23", false},
		{"…: the pod ended", "exec/a.go:25", false},
		{"…: the pod ended", "exec/a.go:25", true},
		{"worker … is lost: …", "exec/a.go:29", false},
	}, all)
}

func TestCatalog(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "links.md"), []byte("# Links\n\n## The link is lost\n\n```messages\nthe link is lost\n…: gone too\n```\n\nCause.\n\n```sh\n## not a heading\n```\n\n## Only text\n\nNothing.\n"), 0o600))
	catalog, err := Catalog(dir)
	require.NoError(t, err)
	require.Len(t, catalog, 1)
	require.Equal(t, "The link is lost", catalog[0].Title)
	require.Equal(t, "links.md:3", catalog[0].At)

	missing, stale := Compare([]Message{{"the link is lost", "a.go:1", false}, {"it broke", "a.go:2", false}, {"it goes on", "a.go:3", true}}, catalog)
	require.Equal(t, []Message{{"it broke", "a.go:2", false}}, missing)
	require.Equal(t, []string{"links.md:3 …: gone too"}, stale)
}
