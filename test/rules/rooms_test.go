package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rooms are the packages below agent/launch, and the rooms that each may import.
// The launcher itself may import all of them, and none imports the launcher.
func rooms() map[string][]string {
	return map[string][]string{
		"command":   {"config", "console", "fleet", "hang", "report", "tally", "verdict"},
		"config":    {"phrase", "verdict"},
		"console":   {"phrase"},
		"export":    {"console", "wait"},
		"files":     {"config", "console", "fleet", "phrase", "plan"},
		"fleet":     {"config", "console", "hang", "phrase", "plan", "record", "wait"},
		"hang":      {"phrase", "wait"},
		"headway":   {"console"},
		"network":   nil,
		"phrase":    nil,
		"plan":      {"config"},
		"preflight": {"phrase"},
		"record":    {"wait"},
		"report":    {"phrase", "record", "tally", "verdict"},
		"show":      {"command", "config", "console", "files", "fleet", "phrase", "plan"},
		"sample":    {"wait"},
		"stall":     {"console"},
		"supervise": {"command", "config", "console", "fleet", "hang", "network", "phrase", "record", "report", "stall", "tally", "verdict", "wait"},
		"tally":     {"phrase", "verdict"},
		"upload":    {"console", "phrase"},
		"verdict":   {"phrase"},
		"wait":      nil,

		"hang/hangtest": nil, // for tests
	}
}

// pureRooms returns the rooms whose results depend only on their arguments. They read no clock, file or socket, and
// start no process.
func pureRooms() []string { return []string{"phrase", "plan", "verdict"} }

func TestRoomsOfTheLauncher(t *testing.T) {
	const launch = module + "agent/launch"
	for _, p := range list(t, launch+"/...") {
		room := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, launch), "/")
		if room == "" {
			continue
		}
		may, known := rooms()[room]
		require.True(t, known, "%s is not in the list of rooms of agent/launch", p.ImportPath)
		for _, i := range p.Imports {
			if to, inside := strings.CutPrefix(i, launch); inside {
				require.Contains(t, may, strings.TrimPrefix(to, "/"), "%s imports %s", p.ImportPath, i)
			}
		}
	}
}

func TestPureRoomsDependOnArgumentsOnly(t *testing.T) {
	for _, room := range pureRooms() {
		files, err := filepath.Glob(filepath.Join(root(t), "agent/launch", room, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			require.NoError(t, err)
			for _, i := range file.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				require.NoError(t, err)
				require.False(t, reachesOut(path), "%s imports %s", name, path)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.SelectorExpr); ok && readsClock(call) {
					t.Errorf("%s: a pure room must not read the clock; pass the time as an argument", set.Position(n.Pos()))
				}
				return true
			})
		}
	}
}

// reachesOut reports whether the package, or one below it, gives access to files, processes, sockets, randomness or
// waiting.
func reachesOut(path string) bool {
	return slices.ContainsFunc([]string{"os", "net", "context", "io/ioutil", "log/slog", "math/rand", "golang.org/x/sync", "k8s.io", module + "exec/link", module + "exec/reap", module + "exec/rundir"}, func(one string) bool {
		return path == one || strings.HasPrefix(path, one+"/")
	}) && path != "net/netip"
}

// readsClock reports whether s selects a function of package time that depends on the current time.
func readsClock(s *ast.SelectorExpr) bool {
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTimer", "NewTicker"}, s.Sel.Name)
}

// mostFields is the limit for a struct in the launcher and its rooms. A larger struct should be split.
const mostFields = 20

func TestTheLauncherHasSmallStructs(t *testing.T) {
	for _, room := range append(slices.Collect(maps.Keys(rooms())), "") {
		files, err := filepath.Glob(filepath.Join(root(t), "agent/launch", room, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					if fields, ok := s.Type.(*ast.StructType); ok {
						require.LessOrEqual(t, fields.Fields.NumFields(), mostFields, "fields of %s in %s", s.Name.Name, name)
					}
				}
				return true
			})
		}
	}
}
