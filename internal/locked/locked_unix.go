//go:build linux || darwin || freebsd

package locked

import "unsafe"

// ahead returns how many bytes of b lie before its first page. The heap does not move.
func ahead(b []byte, page int) int {
	return (page - int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))%uintptr(page))) % page
}

// keep locks pages. They stay locked when the buffer is gone: another one, which then has them, must not lose that.
func keep(pages []byte) {
	if len(pages) > 0 {
		_ = mlock(pages)
	}
}
