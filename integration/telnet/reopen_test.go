package telnet

import (
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestReopen restarts servers under a session, which goes on with the login: nothing that was typed is typed again, and
// the new login is not taken for the old prompt.
func TestReopen(t *testing.T) {
	for _, start := range []func(testing.TB) *lab.TelnetServer{lab.StartBusybox, lab.StartRouter} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := start(t)
			c := lab.HomeFor(t, nil).Connect(t)
			id, _ := c.OpenTelnet(t, s, "")
			c.LoginTelnet(t, s, id)
			s.Process.Stop(t)
			r := c.Call(t, lab.ToolIO,
				`{"action":"read","session_id":%s,"cursor":"0","until_regex":"never-there","timeout_ms":20000}`, id)
			if !r.EOF {
				t.Fatalf("%s: after the end of the server: %s", s.Name, r.Text)
			}
			gap := r.NextCursor
			c.Refused(t, "INVALID_ARGUMENT", lab.ToolSession, `{"action":"reopen","session_id":%s,"auth":{"password":"none-1138"}}`, id)
			r = c.Call(t, lab.ToolSession, `{"action":"reopen","session_id":%s,"wait_ms":600000}`, id)
			if r.State != "connecting" || r.Cursor != gap {
				t.Errorf("%s: reopen without a server: %s", s.Name, r.Text)
			}
			s.Restart(t)
			r = c.Call(t, lab.ToolSession,
				`{"action":"wait","on":[{"session_id":%s,"cursor":%s,"until_state":"open"}],"timeout_ms":40000}`, id, gap)
			if len(r.Fired) != 1 || r.Fired[0].State != "open" || r.Fired[0].NextCursor != gap {
				t.Fatalf("%s: wait: %s", s.Name, r.Text)
			}
			r = c.Call(t, lab.ToolIO,
				`{"action":"read","session_id":%s,"cursor":"0","mode":"cursor","until_regex":"never-there","until_idle_ms":1000,"timeout_ms":20000}`, id)
			if !slices.Equal(r.Gaps, []string{gap}) {
				t.Errorf("%s: a read across the gap: %s", s.Name, r.Text)
			}
			r = c.Call(t, lab.ToolIO,
				`{"action":"read","session_id":%s,"cursor":%s,"until_idle_ms":300,"timeout_ms":20000}`, id, gap)
			if strings.Contains(r.Chunk, s.Password) || r.WaitingFor.Kind == "prompt" {
				t.Errorf("%s: the new connection shows %s", s.Name, r.Text)
			}
			// The login begins where the gap is.
			logInFrom(t, c, s, id, gap)
			if st := c.Call(t, lab.ToolSession, `{"action":"status","session_id":%s}`, id); st.Session.Opens != 2 {
				t.Errorf("%s: status: %s", s.Name, st.Text)
			}
			c.Close(t, id)
		})
	}
}

// logInFrom answers the server's questions, reading from a cursor on.
func logInFrom(t *testing.T, c *lab.Client, s *lab.TelnetServer, id, cursor string) {
	t.Helper()
	for _, step := range []struct{ asked, answer string }{{s.Login, s.User}, {`Password: $`, s.Password}, {s.Prompt, ""}} {
		if step.asked == "" || step.asked == s.Login && step.answer == "" {
			continue
		}
		r := c.Call(t, lab.ToolIO,
			`{"action":"read","session_id":%s,"cursor":%s,"until_regex":%s,"timeout_ms":20000}`, id, cursor, step.asked)
		if !r.Matched {
			t.Fatalf("%s does not ask %s: %s", s.Name, step.asked, r.Text)
		}
		cursor = r.NextCursor
		if step.answer != "" {
			c.Call(t, lab.ToolIO, `{"action":"write","session_id":%s,"data":%s,"sensitive":%s}`,
				id, step.answer+"\r", step.answer == s.Password)
		}
	}
}
