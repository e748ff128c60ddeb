package modem

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) {
	lab.Record = true
	os.Exit(lab.Main(m, map[string]func() error{"spoil": spoil}))
}
