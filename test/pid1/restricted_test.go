//go:build linux

package pid1

import "errors"

func restricted(argv []string) error { return errors.New("later") }
