package display_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ptyctl/session/display"
)

// A frame that no one ends lasts a second from when it came, whenever the screen is first looked at.
func TestFrameEndsOnTime(t *testing.T) {
	const frame = "\x1b[?2026h"
	for _, tc := range []struct {
		name, begin, more string
		rest              time.Duration // before the look; more comes each 300 ms
		ended             bool          // the session has ended then
		want              string
	}{
		{"within it", frame + "after", "", 900 * time.Millisecond, false, "before"},
		{"later", frame + "after", "", 1000 * time.Millisecond, false, "beforeafter"},
		{"more comes", frame + "after", ".", 1900 * time.Millisecond, false, "beforeafter......"},
		{"more comes for long", frame + "after", ".", time.Minute, false, "beforeafter" + strings.Repeat(".", 200)},
		{"begun again within it", frame + "after", frame + ".", 1000 * time.Millisecond, false, "beforeafter..."},
		{"begun again after it", frame + "after", frame + ".", 1300 * time.Millisecond, false, "beforeafter..."},
		{"the session ends", frame + "after", "", 100 * time.Millisecond, true, "beforeafter"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := display.New(400, 1)
			d.Show([]byte("before"), nil)
			time.Sleep(time.Second)
			begin := time.Now()
			d.Show([]byte(tc.begin), nil)
			for n := 1; tc.more != "" && time.Since(begin)+300*time.Millisecond <= tc.rest; n++ {
				time.Sleep(300 * time.Millisecond)
				d.Show([]byte(tc.more), nil)
			}
			time.Sleep(tc.rest - time.Since(begin))
			if tc.ended {
				d.End()
			}
			v := d.View(0)
			if got := v.Row(0); got != tc.want {
				t.Errorf("%s: after %s the screen shows %q, want %q", tc.name, tc.rest, got, tc.want)
			}
		})
	}
}
