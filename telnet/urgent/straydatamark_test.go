package urgent

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStrayMark(t *testing.T) {
	for _, tt := range []struct {
		name, sent string
		pause      time.Duration
		data, want []string
	}{
		{"first byte", "\x03", 0, []string{"\xf2^C\r\n$ "}, []string{"^C\r\n$ "}},
		{"alone", "\x03", 0, []string{"\xf2", "^C\r\n$ "}, []string{"", "^C\r\n$ "}},
		{"behind what was on its way", "\x1c", 0, []string{"yes\r\ny", "es\r\n\xf2^\\Quit"}, []string{"yes\r\ny", "es\r\n^\\Quit"}},
		{"once", "\x03", 0, []string{"\xf2^C\xf2^C"}, []string{"^C\xf2^C"}},
		{"no interrupt", "ls\r", 0, []string{"\xf2^C"}, []string{"\xf2^C"}},
		{"data of its own", "\x03", 0, []string{"x\xf2y", "\xf2"}, []string{"x\xf2y", "\xf2"}},
		{"late", "\x03", 3 * time.Second, []string{"\xf2^C"}, []string{"\xf2^C"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s StrayDataMark
				s.Sent([]byte(tt.sent))
				time.Sleep(tt.pause)
				for i, d := range tt.data {
					p := []byte(d)
					if got := string(p[:s.Remove(p)]); got != tt.want[i] {
						t.Errorf("piece %d: %q, want %q", i, got, tt.want[i])
					}
				}
			})
		})
	}
}
