package external

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestParse(t *testing.T) {
	p, err := Parse("node-list=/opt/a=b@sha256:x@sha256:" + strings.ToUpper(sum))
	require.NoError(t, err)
	require.Equal(t, "node-list", p.Name)
	require.Equal(t, "/opt/a=b@sha256:x", p.Path)
	require.EqualValues(t, 0xe3, p.Sum[0])
	require.EqualValues(t, 0x55, p.Sum[31])

	for text, want := range map[string]string{
		"":                         "--plugin= is not NAME=/path@sha256:HEX",
		"x":                        "--plugin=x is not NAME=/path@sha256:HEX",
		"x=/p":                     "--plugin=x=/p is not NAME=/path@sha256:HEX",
		"=/p@sha256:" + sum:        "--plugin==/p@sha256:" + sum + `: "" is not a name, want letters, digits, '-', '_' and '.'`,
		"a b=/p@sha256:" + sum:     "--plugin=a b=/p@sha256:" + sum + `: "a b" is not a name, want letters, digits, '-', '_' and '.'`,
		"x=p/q@sha256:" + sum:      `--plugin x: path "p/q" is not absolute`,
		"x=/p@sha256:":             `--plugin x: "" is not a SHA-256 sum, want 64 hexadecimal digits as sha256sum prints them`,
		"x=/p@sha256:" + sum[1:]:   `--plugin x: "` + sum[1:] + `" is not a SHA-256 sum, want 64 hexadecimal digits as sha256sum prints them`,
		"x=/p@sha256:g" + sum[1:]:  `--plugin x: "g` + sum[1:] + `" is not a SHA-256 sum, want 64 hexadecimal digits as sha256sum prints them`,
		"x=/p@sha256:" + sum + sum: `--plugin x: "` + sum + sum + `" is not a SHA-256 sum, want 64 hexadecimal digits as sha256sum prints them`,
		"x=/p@md5:" + sum:          "--plugin=x=/p@md5:" + sum + " is not NAME=/path@sha256:HEX",
	} {
		_, err := Parse(text)
		require.EqualError(t, err, want, text)
	}
}

func TestFind(t *testing.T) {
	a, b := "a=/a@sha256:"+sum, "b=/b@sha256:"+sum
	p, err := Find([]string{a, b}, "b")
	require.NoError(t, err)
	require.Equal(t, "/b", p.Path)
	for _, tc := range []struct {
		flags []string
		want  string
	}{
		{nil, "--framework=plugin:c: no --plugin has this name"},
		{[]string{a, b}, "--framework=plugin:c: no --plugin has this name, want one of a, b"},
		{[]string{"c=/c@sha256:" + sum, "c=/d@sha256:" + sum}, "--plugin c is given twice"},
		{[]string{"c=/c@sha256:" + sum, "d"}, "--plugin=d is not NAME=/path@sha256:HEX"},
	} {
		_, err := Find(tc.flags, "c")
		require.EqualError(t, err, tc.want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("x=/p@sha256:" + sum)
	f.Add("=@sha256:")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Parse(text); err == nil {
			require.NotEmpty(t, p.Name)
			require.True(t, strings.HasPrefix(p.Path, "/"))
		}
	})
}
