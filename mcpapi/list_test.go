package mcpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"ptyctl/mcpapi"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/internal/mcptest"
	"ptyctl/session"
)

// The most that tools/list may cost a model's context, in bytes: for the core tools, and for all tools.
const (
	maxList    = 14750
	maxFull    = 16384    // with the schemas of results
	maxDefault = 16 << 10 // as listed without configuration: no files are offered
	maxAll     = 21500
)

// TestToolsList keeps the list of tools, byte by byte: models and prompt caches depend on it.
func TestToolsList(t *testing.T) {
	list := func(results identity.Results, revision string, sets ...string) json.RawMessage {
		srv := mcpapi.NewServer(
			mcpapi.Options{
				Sessions: session.NewManager(mcptest.WithFiles), Results: results, Toolsets: sets,
				Local: []string{"stdio"},
			},
		)
		got := mcptest.NewAgent(t, srv, revision).Request("tools/list", `{}`)
		var result struct {
			Tools json.RawMessage
		}
		if err := json.Unmarshal(got.Result, &result); err != nil {
			t.Fatal(err)
		}
		return result.Tools
	}
	plain, structured := list(identity.Compact, "2025-06-18", "core"), list(identity.Full, "2025-06-18", "core")
	for _, l := range []struct {
		name string
		list json.RawMessage
		most int
	}{{"plain", plain, maxList}, {"structured", structured, maxFull}} {
		t.Logf("%s: %d bytes", l.name, len(l.list))
		if len(l.list) >= l.most {
			t.Errorf("%s: tools/list has %d bytes, must stay under %d", l.name, len(l.list), l.most)
		}
	}
	if usual := list(identity.Compact, "2025-06-18", "core", "local", "health"); len(usual) >= maxDefault {
		t.Errorf("tools/list as it is by default has %d bytes, must stay under %d", len(usual), maxDefault)
	} else {
		t.Logf("default: %d bytes", len(usual))
	}
	if all := list(identity.Full, "2025-06-18"); len(all) >= maxAll {
		t.Errorf("tools/list of all tools has %d bytes, must stay under %d", len(all), maxAll)
	} else {
		t.Logf("all: %d bytes", len(all))
	}
	var golden bytes.Buffer
	for _, part := range []struct {
		name string
		list json.RawMessage
	}{{"plain", plain}, {"structured", structured}, {"others", list(identity.Full, "2025-06-18", "local", "fs", "health")}} {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, part.list, "  ", " "); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(
			&golden,
			"%s%q: %s",
			map[bool]string{true: "{\n", false: ",\n"}[golden.Len() == 0],
			part.name,
			pretty.Bytes(),
		)
	}
	golden.WriteString("\n}\n")
	compareGolden(t, "tools_list.json", golden.Bytes())

	for range 3 {
		if again := list(identity.Full, "2025-06-18", "core"); !bytes.Equal(again, structured) {
			t.Fatal("two servers list the tools in different bytes")
		}
	}
	if old := list(identity.Full, "2025-03-26", "core"); !bytes.Equal(old, plain) {
		t.Error("a client of a revision without structured content is told of output schemas")
	}
}
