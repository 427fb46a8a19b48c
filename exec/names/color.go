package names

// Values of --color.
const (
	ColorAuto   = "auto"
	ColorAlways = "always"
	ColorNever  = "never"
)

// Colored reports whether to use colors, for a value of --color and an output that is a terminal or
// not. ColorAuto obeys NO_COLOR, CLICOLOR_FORCE, TERM=dumb and CLICOLOR, in this order (no-color.org,
// bixense.com/clicolors). getenv returns the value of a variable, or "".
func Colored(when string, terminal bool, getenv func(string) string) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case when == ColorAlways, when == ColorNever:
		return when == ColorAlways
	case getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	}
	return terminal && getenv("TERM") != "dumb" && getenv("CLICOLOR") != "0"
}
