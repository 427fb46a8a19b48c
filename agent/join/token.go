package join

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// mostToken is the limit in bytes of a token file.
const mostToken = 4 << 10

// ReadToken reads the job's token from a file, or, if path is "", from the value of MUSTER_TOKEN.
// It removes surrounding white space. Errors name the file, never the token.
func ReadToken(path, value string) ([]byte, error) {
	if path == "" {
		return []byte(strings.TrimSpace(value)), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("give the path of a file in a mounted Secret", "read the token: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostToken+1))
	switch {
	case err != nil:
		return nil, usage("give the path of a file in a mounted Secret", "read the token: %w", err)
	case len(text) > mostToken:
		return nil, usage(fmt.Sprintf("a token has %d to %d bytes", leastToken, mostToken), "read the token: %s is too long", path)
	}
	return []byte(strings.TrimSpace(string(text))), nil
}
