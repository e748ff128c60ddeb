package auth

import "testing"

// The names were computed by another program (Python's hashlib) from PuTTY's description of the scheme; a pipe of a real
// Pageant has never been seen here.
func TestPageantPipe(t *testing.T) {
	for _, tc := range []struct {
		user    string
		protect func([]byte)
		want    string
	}{
		{"alice", func([]byte) {}, `\\.\pipe\pageant.alice.2e9e7389b30cd8240bf15518e9a228d6537dc38d64b2070a189ca2fe5452d492`},
		{
			"Alice Smith", func(b []byte) {
				for i := range b {
					b[i] ^= 0xa5
				}
			},
			`\\.\pipe\pageant.Alice Smith.a5e1254ae8755742b36f5aafb30040d4d802ef2dfe595baf8705acc8f219bdc4`,
		},
	} {
		if got := pageantPipe(tc.user, tc.protect); got != tc.want {
			t.Errorf("pageantPipe(%q) = %s, want %s", tc.user, got, tc.want)
		}
	}
}
