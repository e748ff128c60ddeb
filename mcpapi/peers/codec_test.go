package peers

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// calls are calls with each of their members.
func calls() []Call {
	plain := Call{
		Tool: "ptyctl_session_io", Arguments: json.RawMessage(`{"action":"read","session_id":"s-1@fra1","cursor":"0","timeout_ms":0,"max_bytes":256}`),
		Caller: Caller{Transport: "http", Token: "agent", Results: "full", Node: "ams2"},
		Client: Program{Name: "bench", Version: "1", Revision: "2025-06-18", Capabilities: json.RawMessage("{}")},
	}
	all := []Call{plain, {}, {URI: "ptyctl://sessions", Watch: true, Progress: true, Part: true, Ordered: true}}
	for _, change := range []func(c *Call){
		func(c *Call) {
			c.Caller = Caller{
				Transport: "a", Token: `"<&>\`, Issuer: "https://a", Shim: "\u2028ü\x00", ReadOnly: true, Isolated: true, Results: "b", Node: "\xff",
			}
		},
		func(c *Call) {
			c.Client = Program{Name: "\n", Stateless: true, Capabilities: json.RawMessage(` { "elicitation" : { } } `)}
		},
		func(c *Call) { c.Trip = json.RawMessage(`{"requestState":"s"}`) },
		func(c *Call) { c.Lend = "fra1" },
		func(c *Call) { c.Lent = &Lent{Node: "a", ID: "b", Machine: "c"} },
		func(c *Call) { c.Files = json.RawMessage("null") },
		func(c *Call) { c.Rules = strings.Repeat("0", 64) },
		func(c *Call) { c.Arguments = json.RawMessage("null") },
		func(c *Call) { c.Arguments = json.RawMessage("[1,\n \"<\"]") },
		func(c *Call) { c.Arguments = json.RawMessage("") },
	} {
		c := plain
		change(&c)
		all = append(all, c)
	}
	return all
}

// TestCodec: Encode and Decode lead to the same call as package encoding/json.
func TestCodec(t *testing.T) {
	for _, c := range calls() {
		slow, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		fast, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		var want, got Call
		if err := json.Unmarshal(slow, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(fast, &got); err != nil || !reflect.DeepEqual(compact(t, got), compact(t, want)) {
			t.Errorf("%+v is written as %s, want as %s (%v)", c, fast, slow, err)
		}
		if got, err := Decode(fast); err != nil || !reflect.DeepEqual(compact(t, got), compact(t, want)) {
			t.Errorf("%s is read as %+v, %v; want %+v", fast, got, err, want)
		}
	}
}

// compact returns a call with its raw members as package encoding/json writes them.
func compact(t *testing.T, c Call) Call {
	t.Helper()
	for _, raw := range []*json.RawMessage{&c.Arguments, &c.Trip, &c.Files, &c.Client.Capabilities} {
		if *raw == nil {
			continue
		}
		text, err := json.Marshal(*raw)
		if err != nil {
			t.Fatal(err)
		}
		*raw = text
	}
	return c
}

// TestEncodeNoJSON: an invalid JSON value cannot add a member to a call.
func TestEncodeNoJSON(t *testing.T) {
	for _, text := range []string{`{},"caller":{"transport":"socket","node":"x"}`, `{}}`, `{`, "\x00"} {
		for _, c := range []Call{{Arguments: json.RawMessage(text)}, {Client: Program{Capabilities: json.RawMessage(text)}}} {
			if got, err := c.Encode(); err == nil {
				t.Errorf("%q is written as %s", text, got)
			}
		}
	}
}

// FuzzDecode compares Decode with package encoding/json: both nodes must read the same call, as the rules of one judge
// what the other does.
func FuzzDecode(f *testing.F) {
	for _, c := range calls() {
		text, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	for _, text := range []string{
		"", "null", " {} ", "{", "[]", `{"tool":"a","tool":"b"}`, `{"tool":"a","Tool":"b"}`, `{"caller":{"node":"a"},"caller":{"token":"b"}}`,
		`{"t\u006fol":"a"}`, `{"tool":1}`, `{"tool":null}`, `{"watch":"true"}`, `{"watch":1}`, `{"watch":null}`, `{"arguments":null}`, `{"caller":null}`,
		`{"caller":[]}`, `{"other":{"a":[1]},"tool":"a"}`, "{\"tool\":\"\xff\"}", `{"tool":"\ud83d","uri":"\ud83d\ude00"}`, `{"client":{"capabilities":null}}`,
		`{"client":{"CAPABILITIES":{},"capabilities":1}}`, `{ "tool" : "a" , "arguments" : { } }`, "{\"to\u017fol\":1,\"u\u017ferules\":2,\"rule\u017f\":\"x\"}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want Call
		wanted := json.Unmarshal(text, &want)
		got, err := Decode(text)
		if (err == nil) != (wanted == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("Decode(%q) = %+v, %v; want %+v, %v", text, got, err, want, wanted)
		}
	})
}

// BenchmarkCall writes and reads a call.
func BenchmarkCall(b *testing.B) {
	c := calls()[0]
	text, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"encode/own":  func() error { _, err := c.Encode(); return err },
		"encode/json": func() error { _, err := json.Marshal(c); return err },
		"decode/own":  func() error { _, err := Decode(text); return err },
		"decode/json": func() error { return json.Unmarshal(text, new(Call)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
