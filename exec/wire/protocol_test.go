package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/musterhq/muster/exec/wire"
)

// section returns the text of PROTOCOL.md from a heading to the next one.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../PROTOCOL.md")
	require.NoError(t, err)
	_, text, found := strings.Cut(string(page), "\n"+heading+"\n")
	require.True(t, found, "no heading %q", heading)
	text, _, _ = strings.Cut(text, "\n#")
	return text
}

// constants returns the values of the string constants of a file whose names have a prefix.
func constants(t *testing.T, file, prefix string) (values []string) {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	require.NoError(t, err)
	ast.Inspect(tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			value, err := strconv.Unquote(text.Value)
			require.NoError(t, err)
			values = append(values, value)
		}
		return true
	})
	require.NotEmpty(t, values)
	return values
}

// TestProtocolHasEveryReport checks the table of reports in PROTOCOL.md.
func TestProtocolHasEveryReport(t *testing.T) {
	text := section(t, "## Reports")
	for _, kind := range constants(t, "report.go", "Report") {
		require.Contains(t, text, "\n| `"+kind+"`")
	}
}

// TestProtocolHasAllOfEXIT checks the list of the fields of EXIT in PROTOCOL.md, and the reasons.
func TestProtocolHasAllOfEXIT(t *testing.T) {
	text := section(t, "### EXIT")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[wire.ExitRecord]()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		require.Contains(t, text, "`"+name+"`")
	}
	for _, reason := range constants(t, "record.go", "Reason") {
		require.Contains(t, text, "`"+reason+"`")
	}
}
