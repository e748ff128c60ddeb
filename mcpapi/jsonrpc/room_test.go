package jsonrpc_test

import (
	"testing"

	"ptyctl/mcpapi/jsonrpc"
)

func TestRoom(t *testing.T) {
	r := jsonrpc.NewRoom(1 << 20)
	take := func(size int64, want bool) func() {
		t.Helper()
		leave, ok := r.Take(size)
		if ok != want {
			t.Fatalf("Take(%d) = %t, want %t", size, ok, want)
		}
		return leave
	}
	huge := take(2<<20, true) // alone
	take(100<<10, false)
	take(64<<10, true) // a small message needs none
	huge()
	huge() // has no effect
	first, second := take(600<<10, true), take(400<<10, true)
	take(100<<10, false)
	first()
	take(2<<20, false)
	take(500<<10, true)()
	second()
	take(2<<20, true)()
}

func TestNoRoom(t *testing.T) {
	var r *jsonrpc.Room
	for range 2 {
		if _, ok := r.Take(1 << 40); !ok {
			t.Errorf("Take of a nil Room = %t, want no limit", ok)
		}
	}
}
