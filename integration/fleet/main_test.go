// Package fleet tests commands on many hosts against real servers.
package fleet

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }
