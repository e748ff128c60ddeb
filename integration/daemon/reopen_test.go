package daemon

import (
	"slices"
	"testing"

	"ptyctl/internal/lab"
)

// A router reloads, and meanwhile the client of its session is killed. The next client adopts the session while it is
// being reopened, and works on under its id: the cursors go on, and the gap is where the first client has read to.
func TestReopenWithoutClient(t *testing.T) {
	s := lab.StartRouter(t)
	h := newHome(t)
	one := h.Start(t, "--daemon").ShakeHands(t, nil)
	id, _ := one.OpenTelnet(t, s, "")
	one.LoginTelnet(t, s, id)
	s.Process.Stop(t)
	r := one.Call(t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":20000}`, id)
	if !r.EOF {
		t.Fatalf("a read after the end of the router: %s, want eof", r.Text)
	}
	gap := r.NextCursor
	if r := one.Call(t, lab.ToolSession, `{"action":"reopen","session_id":%s,"wait_ms":600000}`, id); r.State != "connecting" {
		t.Fatalf("reopen while the router is away: %s, want connecting", r.Text)
	}
	one.Kill()

	two := h.Start(t, "--daemon").ShakeHands(t, nil)
	lab.Eventually(t, "the client has gone", func() bool { return theDaemon(t, h).Clients == 1 })
	if r := two.Call(t, lab.ToolSession, `{"action":"adopt","session_id":%s}`, id); r.State != "connecting" || r.SessionID != id {
		t.Errorf("adopt while the router is away: %s, want the session, connecting", r.Text)
	}
	s.Restart(t)
	r = two.Call(t, lab.ToolSession, `{"action":"wait","on":[{"session_id":%s,"cursor":%s,"until_state":"open"}],"timeout_ms":40000}`, id, gap)
	if len(r.Fired) != 1 || r.Fired[0].State != "open" || r.Fired[0].NextCursor != gap {
		t.Fatalf("wait until the session is open: %s, want it open from the cursor %s on", r.Text, gap)
	}
	r = two.Call(t, lab.ToolIO,
		`{"action":"read","session_id":%s,"cursor":"0","mode":"cursor","until_regex":"Password: $","timeout_ms":20000}`, id)
	if !slices.Equal(r.Gaps, []string{gap}) {
		t.Errorf("a read across the gap: %s, want the gap at %s", r.Text, gap)
	}
	if st := two.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); st.State != "open" || st.Session.Opens != 2 {
		t.Errorf("status: %s, want it open for the second time", st.Text)
	}
}
