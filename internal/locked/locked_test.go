package locked

import (
	"os"
	"runtime"
	"testing"
	"unsafe"
)

func TestBytes(t *testing.T) {
	page := os.Getpagesize()
	for _, n := range []int{0, 1, page - 1, page, page + 1, 3*page + 7} {
		b := Bytes(n)
		if len(b) != n || cap(b) != n {
			t.Errorf("Bytes(%d) has %d of %d bytes", n, len(b), cap(b))
		}
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(b))); n > 0 && runtime.GOOS == "linux" && at%uintptr(page) != 0 {
			t.Errorf("Bytes(%d) begins at %#x, amid a page", n, at)
		}
		for i := range b {
			b[i] = 1
		}
	}
	if c := Clone([]byte("value")); string(c) != "value" {
		t.Errorf("Clone = %q", c)
	}
}
