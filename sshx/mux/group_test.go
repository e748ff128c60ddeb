package mux

import (
	"strings"
	"testing"
	"testing/synctest"
)

func TestGroupKeepsAFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var faults []error
		c := group{fault: func(cause error) { faults = append(faults, cause) }}
		c.Go(func() { panic("a fault of ours") })
		c.Wait()
		if len(faults) != 1 || !strings.Contains(faults[0].Error(), "a fault of ours") ||
			!strings.Contains(faults[0].Error(), "group_test.go") {
			t.Errorf("faults = %v, want one with the panic's text and the file of its stack", faults)
		}
	})
}
