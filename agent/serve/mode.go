package serve

import "fmt"

// Mode is the value of --serve-kubeflow.
type Mode string

// Modes. The empty one is Off.
const (
	Off    Mode = "off"
	On     Mode = "on"
	DryRun Mode = "dry-run"
)

// Set parses a value. The flag without a value is On.
func (m *Mode) Set(word string) error {
	switch word {
	case "true", "on":
		*m = On
	case "false", "off", "":
		*m = Off
	case "dry-run":
		*m = DryRun
	default:
		return fmt.Errorf("want on, off or dry-run; dry-run only reports what it would do")
	}
	return nil
}

// String returns the value as written on the command line.
func (m *Mode) String() string {
	if *m == "" {
		return string(Off)
	}
	return string(*m)
}

// IsBoolFlag allows the flag without a value.
func (m *Mode) IsBoolFlag() bool { return true }
