package kubeflow

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// utf16Text encodes text as UTF-16 with a byte order mark, like a redirection in PowerShell.
func utf16Text(order binary.AppendByteOrder, text string) string {
	b := []byte{}
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestReadEveryObject checks that each object is read in order, whatever the form of the stream,
// and that reading Raw again gives the same object.
func TestReadEveryObject(t *testing.T) {
	job := func(name string) string {
		return fmt.Sprintf(`{"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": %q, "labels": {"seed": "007"}}}`, name)
	}
	block := func(name string) string {
		return "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata:\n  name: " + name + "\n  labels: {seed: \"007\"}\n"
	}
	bare := func(name string) string {
		return fmt.Sprintf(`{"metadata": {"name": %q, "labels": {"seed": "007"}}}`, name)
	}
	list := func(kind string, items ...string) string {
		return `{"apiVersion": "kubeflow.org/v1", "kind": "` + kind + `", "metadata": {"resourceVersion": ""}, "items": [` + strings.Join(items, ", ") + `]}`
	}
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	tabs := "{\n\t\"apiVersion\": \"kubeflow.org/v1\",\n\t\"kind\": \"PyTorchJob\",\n\t\"metadata\": {\"name\": \"a\", \"labels\": {\"seed\": \"007\"}}\n}\n"
	for name, tc := range map[string]struct{ text, want string }{
		"one":                              {block("a"), "a"},
		"JSON":                             {job("a"), "a"},
		"JSON, one object a line":          {job("a") + "\n" + job("b") + "\n" + job("c"), "a b c"},
		"JSON without line breaks":         {job("a") + job("b"), "a b"},
		"JSON with tabs":                   {tabs + tabs, "a a"},
		"JSON, then a separator":           {job("a") + "\n---\n" + job("b") + job("c"), "a b c"},
		"JSON, then YAML":                  {job("a") + "\n---\n" + block("b"), "a b"},
		"an array":                         {"[" + job("a") + ", " + job("b") + "]", "a b"},
		"arrays":                           {"[" + job("a") + "][" + job("b") + "]", "a b"},
		"a sequence":                       {"- " + job("a") + "\n- " + job("b"), "a b"},
		"flow YAML":                        {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a, labels: {seed: '007'}}}", "a"},
		"a stream":                         {block("a") + "---\n" + block("b"), "a b"},
		"separators with white space":      {"---\n" + block("a") + "---  \n---\t# more\n" + block("b") + "---", "a b"},
		"document end markers":             {block("a") + "...\n---\n" + block("b") + "...\n", "a b"},
		"CRLF":                             {crlf(block("a") + "---\n" + block("b")), "a b"},
		"CRLF and JSON":                    {crlf(job("a") + "\n" + job("b") + "\n"), "a b"},
		"a byte order mark":                {"\ufeff" + block("a") + "---\n" + block("b"), "a b"},
		"byte order marks of joined files": {"\ufeff" + block("a") + "---\n\ufeff" + block("b"), "a b"},
		"a byte order mark, a separator":   {"\ufeff---\n" + block("a"), "a"},
		"a byte order mark, JSON":          {"\ufeff" + job("a") + job("b"), "a b"},
		"UTF-16, little-endian":            {utf16Text(binary.LittleEndian, crlf(block("a")+"---\n"+block("b"))), "a b"},
		"UTF-16, big-endian":               {utf16Text(binary.BigEndian, job("a")+job("b")), "a b"},
		"documents without an object":      {"# nothing\n---\n" + block("a") + "---\n# nothing\n---\n\n---\nnull\n---\n" + block("b"), "a b"},
		"only comments":                    {"# nothing\n---\n# more\n", ""},
		"nothing":                          {"", ""},
		"a List":                           {list("List", job("a"), job("b")), "a b"},
		"Lists":                            {list("List", job("a")) + "\n" + list("List", job("b")), "a b"},
		"a List in a List":                 {list("List", list("List", job("a")), job("b")), "a b"},
		"a list of a kind":                 {list("PyTorchJobList", bare("a"), job("b")), "a b"},
		"a List in YAML":                   {"kind: List\napiVersion: v1\nitems:\n- " + job("a") + "\n- " + job("b") + "\n---\n" + block("c"), "a b c"},
		"an empty List":                    {"kind: List\napiVersion: v1\nitems: []\n---\n" + block("a"), "a"},
		"an empty List with null":          {"kind: List\napiVersion: v1\nitems: null\n---\n" + block("a"), "a"},
	} {
		t.Run(name, func(t *testing.T) {
			docs, err := Read(strings.NewReader(tc.text))
			require.NoError(t, err)
			got := []string{}
			for _, d := range docs {
				require.Equal(t, Kind{"kubeflow.org/v1", "PyTorchJob"}, kindOf(d.Object))
				meta := d.Object["metadata"].(map[string]any)
				require.Equal(t, map[string]any{"seed": "007"}, meta["labels"])
				got = append(got, meta["name"].(string))
				again, err := Read(strings.NewReader(string(d.Raw)))
				require.NoError(t, err)
				require.Len(t, again, 1)
				require.Equal(t, d.Object, again[0].Object)
			}
			require.Equal(t, strings.Fields(tc.want), got)
		})
	}
}

// TestReadErrors checks that an error for unreadable text names the place, and that no text is
// skipped.
func TestReadErrors(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"duplicate key":               {"a: 1\na: 2\n", `key "a" already set in map`},
		"duplicate key in JSON":       {`{"a": 1} {"b": 1, "b": 2}`, `value 2: duplicate field "b"`},
		"truncated JSON":              {`{"a": 1} {"b": `, "JSON value 2: unexpected EOF"},
		"text after JSON":             {"{\"a\": 1}\nb: 2\n", "JSON value 2: "},
		"flow YAML without separator": {"{a: 1}\n{b: 2}\n", "document start"},
		"text after a document end":   {"a: 1\n...\nb: 1\n", "document start"},
		"carriage returns only":       {"a: 1\r---\rb: 1\rb: 2\r", "already set in map"},
		"text on a separator":         {"a: 1\n--- {b: 2}\n", "document separator"},
		"duplicate key, document 2":   {"a: 1\n---\nb: 1\nb: 2\n", `document 2: yaml: unmarshal errors:`},
		"a word":                      {"a: 1\n---\nhello\n", `read document 2: not a Kubernetes object: "hello"`},
		"a word in an array":          {`[{"a": 1}, "hello"]`, "[1] is not an object"},
		"a word in a List":            {"kind: List\nitems: [{a: 1}, hello]\n", "items[1] is not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
	docs, err := Read(strings.NewReader("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: x}\nitems: [10.0.0.1]\n"))
	require.NoError(t, err)
	require.Equal(t, "AllowList x", docs[0].ID(), "an object with a name is not a list")
}
