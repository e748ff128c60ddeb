package screen

import (
	"os"
	"testing"

	"ptyctl/internal/lab"
)

func TestMain(m *testing.M) { os.Exit(lab.Main(m, nil)) }
