package main

import (
	"strings"
	"testing"

	"ptyctl/cluster/sim/load"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run([]string{"load"}, &out); err != nil || out.String() != load.Table() {
		t.Errorf("load: %v\n%s", err, &out)
	}
	out.Reset()
	if err := run([]string{"faults", "2"}, &out); err != nil || strings.Count(out.String(), "\n") != 18 {
		t.Errorf("faults: %v\n%s", err, &out)
	}
	out.Reset()
	if err := run([]string{"clocks", "2"}, &out); err != nil || !strings.Contains(out.String(), "| of nodes, by up to an hour | 0 of 2 |") {
		t.Errorf("clocks: %v\n%s", err, &out)
	}
	for _, args := range [][]string{nil, {"faults"}, {"faults", "0"}, {"faults", "x"}, {"storms", "1"}, {"other"}} {
		if err := run(args, &out); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}
