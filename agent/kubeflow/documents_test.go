package kubeflow

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

// utf16Text encodes text like > in PowerShell.
func utf16Text(order binary.AppendByteOrder, text string) string {
	b := []byte{}
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestReadEveryObject checks that whatever the form of a stream, each object is read in order, and
// its Raw is the same object.
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
		"one":                          {block("a"), "a"},
		"JSON":                         {job("a"), "a"},
		"JSON, a line each":            {job("a") + "\n" + job("b") + "\n" + job("c"), "a b c"},
		"JSON without a break":         {job("a") + job("b"), "a b"},
		"JSON with tabs":               {tabs + tabs, "a a"},
		"JSON, then a separator":       {job("a") + "\n---\n" + job("b") + job("c"), "a b c"},
		"JSON, then YAML":              {job("a") + "\n---\n" + block("b"), "a b"},
		"an array":                     {"[" + job("a") + ", " + job("b") + "]", "a b"},
		"arrays":                       {"[" + job("a") + "][" + job("b") + "]", "a b"},
		"a sequence":                   {"- " + job("a") + "\n- " + job("b"), "a b"},
		"flow YAML":                    {"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a, labels: {seed: '007'}}}", "a"},
		"a stream":                     {block("a") + "---\n" + block("b"), "a b"},
		"separators with blanks":       {"---\n" + block("a") + "---  \n---\t# more\n" + block("b") + "---", "a b"},
		"document ends":                {block("a") + "...\n---\n" + block("b") + "...\n", "a b"},
		"CRLF":                         {crlf(block("a") + "---\n" + block("b")), "a b"},
		"CRLF and JSON":                {crlf(job("a") + "\n" + job("b") + "\n"), "a b"},
		"a byte order mark":            {"\ufeff" + block("a") + "---\n" + block("b"), "a b"},
		"marks of files put together":  {"\ufeff" + block("a") + "---\n\ufeff" + block("b"), "a b"},
		"a mark before a separator":    {"\ufeff---\n" + block("a"), "a"},
		"a mark before JSON":           {"\ufeff" + job("a") + job("b"), "a b"},
		"UTF-16":                       {utf16Text(binary.LittleEndian, crlf(block("a")+"---\n"+block("b"))), "a b"},
		"UTF-16, the other way round":  {utf16Text(binary.BigEndian, job("a")+job("b")), "a b"},
		"comments alone":               {"# nothing\n---\n" + block("a") + "---\n# nothing\n---\n\n---\nnull\n---\n" + block("b"), "a b"},
		"only comments":                {"# nothing\n---\n# more\n", ""},
		"nothing":                      {"", ""},
		"a List":                       {list("List", job("a"), job("b")), "a b"},
		"Lists":                        {list("List", job("a")) + "\n" + list("List", job("b")), "a b"},
		"a List in a List":             {list("List", list("List", job("a")), job("b")), "a b"},
		"a list of a kind":             {list("PyTorchJobList", bare("a"), job("b")), "a b"},
		"a List in YAML":               {"kind: List\napiVersion: v1\nitems:\n- " + job("a") + "\n- " + job("b") + "\n---\n" + block("c"), "a b c"},
		"an empty List":                {"kind: List\napiVersion: v1\nitems: []\n---\n" + block("a"), "a"},
		"an empty List, as Go says it": {"kind: List\napiVersion: v1\nitems: null\n---\n" + block("a"), "a"},
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

// TestReadNames checks that text that cannot be read is an error that says where; nothing is left
// out.
func TestReadNames(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"a key twice":          {"a: 1\na: 2\n", `key "a" already set in map`},
		"a key twice in JSON":  {`{"a": 1} {"b": 1, "b": 2}`, `value 2: duplicate field "b"`},
		"torn JSON":            {`{"a": 1} {"b": `, "JSON value 2: unexpected EOF"},
		"something after JSON": {"{\"a\": 1}\nb: 2\n", "JSON value 2: "},
		"flow YAML in a row":   {"{a: 1}\n{b: 2}\n", "document start"},
		"an end alone":         {"a: 1\n...\nb: 1\n", "document start"},
		"lone returns":         {"a: 1\r---\rb: 1\rb: 2\r", "already set in map"},
		"text on a separator":  {"a: 1\n--- {b: 2}\n", "document separator"},
		"a key twice, later":   {"a: 1\n---\nb: 1\nb: 2\n", `document 2: yaml: unmarshal errors:`},
		"a word":               {"a: 1\n---\nhello\n", `read document 2: not a Kubernetes object: "hello"`},
		"a word in an array":   {`[{"a": 1}, "hello"]`, "[1] is not an object"},
		"a word in a List":     {"kind: List\nitems: [{a: 1}, hello]\n", "items[1] is not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tc.text))
			require.ErrorContains(t, err, tc.want)
		})
	}
	docs, err := Read(strings.NewReader("apiVersion: example.com/v1\nkind: AllowList\nmetadata: {name: x}\nitems: [10.0.0.1]\n"))
	require.NoError(t, err)
	require.Equal(t, "AllowList x", docs[0].ID(), "an object with a name is no list")
}
