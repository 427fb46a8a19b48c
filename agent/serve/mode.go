package serve

import "fmt"

// Mode is the value of --serve-kubeflow.
type Mode string

// The modes. The empty one is Off.
const (
	Off    Mode = "off"
	On     Mode = "on"
	DryRun Mode = "dry-run"
)

// Set reads a value; the flag alone is On.
func (m *Mode) Set(word string) error {
	switch word {
	case "true", "on":
		*m = On
	case "false", "off", "":
		*m = Off
	case "dry-run":
		*m = DryRun
	default:
		return fmt.Errorf("it takes on, off or dry-run: dry-run says what it would do, and does nothing")
	}
	return nil
}

// String is how it is written.
func (m *Mode) String() string {
	if *m == "" {
		return string(Off)
	}
	return string(*m)
}

// IsBoolFlag lets the flag stand alone.
func (m *Mode) IsBoolFlag() bool { return true }
