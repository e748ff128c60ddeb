package attach

import (
	"bytes"
	"strings"
	"testing"

	"ptyctl/internal/app/apptest"
)

// The person's terminal gets the queries from after it was taken, and none from before, though both parts are drawn at
// once.
func TestDrawAsks(t *testing.T) {
	s, _ := shell(t, apptest.Start(t), `stty -echo; printf 'before\033[c.'; read x; printf 'after\033[c.'; cat`)
	follow := &follower{Attachment: To(s), cursor: "0"}
	read(t, follow, "before\x1b[c.")
	var out bytes.Buffer
	v := newViewer(To(s), Options{Out: &out}, true)
	if _, err := v.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := v.Attachment.write(t.Context(), []byte("x\n")); err != nil {
		t.Fatal(err)
	}
	read(t, follow, "after\x1b[c.")
	if _, err := v.draw(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if before, after, ok := strings.Cut(out.String(), "after"); !ok || !strings.Contains(before, "before.") || after != "\x1b[c." {
		t.Errorf("the terminal was sent %q, want the query behind after alone", out.String())
	}
}
