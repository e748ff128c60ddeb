package aiterm_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/session"
)

// Many terminals have several readers each, while other calls run programs. Every reader
// must get every byte once and in order.
func TestManyAtOnce(t *testing.T) {
	l := newLab(t, mcpapi.Options{}, session.Config{})
	const terminals, readers, lines = 6, 3, 2000
	var want strings.Builder
	for i := 0; i <= lines; i++ {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	var all sync.WaitGroup
	for n := range terminals {
		id := l.open(
			fmt.Sprintf(
				`["sh","-c","stty raw -echo; echo line 0; read x; i=0; while [ $i -lt %d ]; do i=$((i+1)); echo line $i; done; exit %d"]`,
				lines,
				n,
			),
			"",
		)
		l.until(id, 0, "line 0") // earlier input would be echoed
		for r := range readers {
			all.Go(func() {
				var data strings.Builder
				for seq, closed := uint64(0), false; !closed; {
					got, err := l.try(
						t.Context(),
						"pty_read",
						fmt.Sprintf(`{"id":%q,"since_seq":%d,"timeout_ms":10000,"max_bytes":%d}`, id, seq, 40<<10+r),
					)
					if err != nil || got.isError || got.Truncated {
						t.Errorf("pty_read by reader %d: %v: %.300s", r, err, got.text)
						return
					}
					for _, c := range got.Chunks {
						if seq++; c.Seq != seq {
							t.Errorf("chunk %d came after %d, want consecutive numbers", c.Seq, seq-1)
						}
					}
					data.WriteString(got.data())
					closed = got.Closed
				}
				if data.String() != want.String() {
					t.Errorf("reader %d of terminal %d has %d bytes, want %d", r, n, data.Len(), want.Len())
				}
			})
		}
		all.Go(func() {
			if _, err := l.try(t.Context(), "pty_send", `{"id":"`+id+`","data":"`+b64("\n")+`"}`); err != nil {
				t.Error(err)
			}
			r, err := l.try(t.Context(), "shell_run", fmt.Sprintf(`{"argv":["sh","-c","exit %d"],%s}`, n, path))
			if err != nil || r.RC == nil || *r.RC != n {
				t.Errorf("shell_run of exit %d = %s, %v; want that rc", n, r.text, err)
			}
		})
	}
	all.Wait()
}
