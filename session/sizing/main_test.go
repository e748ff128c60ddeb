package sizing_test

import (
	"os"
	"testing"

	"ptyctl/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }
