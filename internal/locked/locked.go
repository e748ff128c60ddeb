// Package locked makes buffers for values that must not reach a swap file.
//
//	b := locked.Bytes(n)
//	defer clear(b)
package locked

import "os"

// Bytes returns a buffer of n bytes, on pages of its own that the system keeps in memory if this process may ask for that
// (mlock(2), setrlimit(2) RLIMIT_MEMLOCK). If not, it is like any other.
func Bytes(n int) []byte {
	page := os.Getpagesize()
	whole := make([]byte, (n+page-1)/page*page+page)
	skip := ahead(whole, page)
	b := whole[skip : skip+n : skip+n]
	keep(whole[skip : len(whole)-page+skip])
	return b
}

// Clone returns a copy of b in such a buffer.
func Clone(b []byte) []byte {
	c := Bytes(len(b))
	copy(c, b)
	return c
}
