package serial

import (
	"encoding/json"
	"os"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/term"
)

func TestMain(m *testing.M) {
	lab.Record = true
	os.Exit(lab.Main(m, nil))
}

// open opens a line with members besides the path.
func open(t *testing.T, c *lab.Client, path, more string) lab.Result {
	t.Helper()
	r := c.Call(t, lab.ToolSession, `{"action":"open","protocol":"serial","serial":{"path":%s`+more+`}}`, path)
	if r.State != "open" || r.SessionID == "" {
		t.Fatalf("open: %s", r.Text)
	}
	return r
}

// lineOf returns the settings of a result.
func lineOf(t *testing.T, r lab.Result) term.Serial {
	t.Helper()
	var out struct {
		Serial struct {
			Path         string
			Baud         int
			DataBits     int `json:"data_bits"`
			StopBits     int `json:"stop_bits"`
			Parity, Flow string
		}
	}
	if err := json.Unmarshal([]byte(r.Text), &out); err != nil {
		t.Fatal(err)
	}
	s := out.Serial
	return term.Serial{
		Path: s.Path, Baud: s.Baud, DataBits: s.DataBits, Parity: s.Parity, StopBits: s.StopBits, Flow: s.Flow,
	}
}
