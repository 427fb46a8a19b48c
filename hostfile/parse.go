package hostfile

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
)

// MaxSlots limits the slots of one host. A larger number is a typing error, and the sum of slots
// must not overflow.
const MaxSlots = 1 << 20

// Parse reads a hostfile in either dialect, or a mix of both. '#' begins a comment, blank lines are
// ignored, and a host without a number has one slot. Of Open MPI's other keys, max_slots is checked
// and dropped, because Muster never places ranks itself. Any other key is an error that names the
// line: ignoring it would put ranks where the user did not want them.
//
// Errors: "parse hostfile: line N: ..." and those of the reader.
func Parse(r io.Reader) ([]Host, error) {
	var hosts []Host
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		host, err := parseLine(fields)
		if err != nil {
			return nil, fmt.Errorf("parse hostfile: line %d: %w", n, err)
		}
		hosts = append(hosts, host)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("parse hostfile: %w", err)
	}
	return hosts, nil
}

func parseLine(fields []string) (Host, error) {
	host, numbered, err := parseName(fields[0])
	if err != nil {
		return Host{}, err
	}
	for _, field := range fields[1:] {
		key, value, found := strings.Cut(field, "=")
		if !found {
			return Host{}, fmt.Errorf("want slots=N after host %[2]s, not %[1]q", field, host.Name)
		}
		slots, err := parseSlots(value)
		if err != nil {
			return Host{}, fmt.Errorf("%s: %w", key, err)
		}
		switch key {
		case "slots":
			if numbered {
				return Host{}, fmt.Errorf("host %s has two numbers of slots", host.Name)
			}
			host.Slots, numbered = slots, true
		case "max_slots", "max-slots":
		default:
			return Host{}, fmt.Errorf("unknown key %q after host %s: want slots=N", key, host.Name)
		}
	}
	return host, nil
}

// parseName splits "name", "name:N", "[v6]" and "[v6]:N". The colons of a bare IPv6 address
// separate no number.
func parseName(field string) (host Host, numbered bool, err error) {
	name, number, numbered := field, "", false
	switch {
	case strings.HasPrefix(field, "["):
		inner, rest, closed := strings.Cut(field[1:], "]")
		if !closed || (rest != "" && rest[0] != ':') {
			return Host{}, false, fmt.Errorf("%q lacks the closing bracket", field)
		}
		if !isIPv6(inner) {
			return Host{}, false, fmt.Errorf("%q is not an IPv6 address", inner)
		}
		name = inner
		if rest != "" {
			number, numbered = rest[1:], true
		}
	case strings.Count(field, ":") == 1:
		name, number, numbered = strings.Cut(field, ":")
	case strings.Contains(field, ":") && !isIPv6(field):
		return Host{}, false, fmt.Errorf("%q is not name:N or an IPv6 address", field)
	}
	if name == "" || strings.ContainsAny(name, "=[]") {
		return Host{}, false, fmt.Errorf("%q is not a host name", field)
	}
	host = Host{Name: name, Slots: 1}
	if numbered {
		host.Slots, err = parseSlots(number)
	}
	return host, numbered, err
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6()
}

func parseSlots(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxSlots || s[0] == '+' {
		return 0, fmt.Errorf("%q is not a number of slots: want 1 to %d", s, MaxSlots)
	}
	return n, nil
}
