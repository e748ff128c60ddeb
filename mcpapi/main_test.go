package mcpapi

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
)

// MaxLogged is the longest id in a line of the log.
const MaxLogged = maxLogged

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
