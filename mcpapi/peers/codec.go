package peers

import (
	"bytes"
	"encoding/json"

	"ptyctl/mcpapi/jsonrpc"
)

// Both nodes of a call that is passed on encode or decode its text. The functions here handle the members of nearly all
// calls by hand, in a sixth to a third of the time of package encoding/json, and leave the rest to that package
// (BenchmarkCall).

// Encode returns the call in JSON.
func (c *Call) Encode() ([]byte, error) {
	if c.Trip != nil || c.Lend != "" || c.Lent != nil || c.Files != nil || !valid(c.Arguments) || !valid(c.Client.Capabilities) {
		return json.Marshal(c)
	}
	var w writer
	w.Grow(512 + len(c.Arguments) + len(c.Client.Capabilities))
	w.begin("")
	w.text("tool", c.Tool)
	w.raw("arguments", c.Arguments)
	w.text("uri", c.URI)
	w.flag("watch", c.Watch)
	w.flag("progress", c.Progress)
	w.flag("part", c.Part)
	w.flag("ordered", c.Ordered)
	w.begin("caller")
	w.name("transport")
	jsonrpc.Quote(&w.Buffer, c.Caller.Transport)
	w.text("token", c.Caller.Token)
	w.text("issuer", c.Caller.Issuer)
	w.text("shim", c.Caller.Shim)
	w.flag("read_only", c.Caller.ReadOnly)
	w.flag("isolated", c.Caller.Isolated)
	w.text("results", c.Caller.Results)
	w.name("node")
	jsonrpc.Quote(&w.Buffer, c.Caller.Node)
	w.end()
	w.begin("client")
	w.text("name", c.Client.Name)
	w.text("version", c.Client.Version)
	w.text("revision", c.Client.Revision)
	w.flag("stateless", c.Client.Stateless)
	w.raw("capabilities", c.Client.Capabilities)
	w.end()
	w.text("rules", c.Rules)
	w.end()
	return w.Bytes(), nil
}

// valid reports whether a text can be the value of a member without change: it is empty, or one value.
func valid(text json.RawMessage) bool { return len(text) == 0 || jsonrpc.Valid(text) }

// A writer writes the members of objects. It leaves out empty members, unless name begins them.
type writer struct{ bytes.Buffer }

// name begins a member.
func (w *writer) name(name string) {
	if b := w.Bytes(); b[len(b)-1] != '{' {
		w.WriteByte(',')
	}
	w.WriteByte('"')
	w.WriteString(name)
	w.WriteString(`":`)
}

// begin begins an object, which is a member unless name is empty.
func (w *writer) begin(name string) {
	if name != "" {
		w.name(name)
	}
	w.WriteByte('{')
}

// end ends it.
func (w *writer) end() { w.WriteByte('}') }

func (w *writer) text(name, value string) {
	if value != "" {
		w.name(name)
		jsonrpc.Quote(&w.Buffer, value)
	}
}

func (w *writer) flag(name string, value bool) {
	if value {
		w.name(name)
		w.WriteString("true")
	}
}

func (w *writer) raw(name string, value json.RawMessage) {
	if len(value) > 0 {
		w.name(name)
		w.Write(value)
	}
}

// Decode reads a call from its JSON. The call may share the memory of text.
func Decode(text []byte) (c Call, err error) {
	if jsonrpc.Valid(text) && c.read(text) {
		return c, nil
	}
	c = Call{}
	err = json.Unmarshal(text, &c)
	return c, err
}

// read reads the form that Encode writes by hand. It reports false for anything else, for example a member given twice
// or a name in other letter case, which package encoding/json accepts.
func (c *Call) read(text json.RawMessage) bool {
	return readMembers(text, func(name, value json.RawMessage) (bit int, ok bool) {
		switch string(name) {
		case `"tool"`:
			return 0, readText(value, &c.Tool)
		case `"arguments"`:
			return 1, readRaw(value, &c.Arguments)
		case `"uri"`:
			return 2, readText(value, &c.URI)
		case `"watch"`:
			return 3, readFlag(value, &c.Watch)
		case `"progress"`:
			return 4, readFlag(value, &c.Progress)
		case `"part"`:
			return 5, readFlag(value, &c.Part)
		case `"caller"`:
			return 6, c.Caller.read(value)
		case `"client"`:
			return 7, c.Client.read(value)
		case `"rules"`:
			return 8, readText(value, &c.Rules)
		case `"ordered"`:
			return 9, readFlag(value, &c.Ordered)
		}
		return 0, false
	})
}

func (c *Caller) read(text json.RawMessage) bool {
	return readMembers(text, func(name, value json.RawMessage) (bit int, ok bool) {
		switch string(name) {
		case `"transport"`:
			return 0, readText(value, &c.Transport)
		case `"token"`:
			return 1, readText(value, &c.Token)
		case `"issuer"`:
			return 2, readText(value, &c.Issuer)
		case `"shim"`:
			return 3, readText(value, &c.Shim)
		case `"read_only"`:
			return 4, readFlag(value, &c.ReadOnly)
		case `"isolated"`:
			return 5, readFlag(value, &c.Isolated)
		case `"results"`:
			return 6, readText(value, &c.Results)
		case `"node"`:
			return 7, readText(value, &c.Node)
		}
		return 0, false
	})
}

func (p *Program) read(text json.RawMessage) bool {
	return readMembers(text, func(name, value json.RawMessage) (bit int, ok bool) {
		switch string(name) {
		case `"name"`:
			return 0, readText(value, &p.Name)
		case `"version"`:
			return 1, readText(value, &p.Version)
		case `"revision"`:
			return 2, readText(value, &p.Revision)
		case `"stateless"`:
			return 3, readFlag(value, &p.Stateless)
		case `"capabilities"`:
			return 4, readRaw(value, &p.Capabilities)
		}
		return 0, false
	})
}

// readMembers calls member with each member of an object, until that reports false, or the same bit for a second time:
// a member is given twice.
func readMembers(text json.RawMessage, member func(name, value json.RawMessage) (bit int, ok bool)) bool {
	if text[0] != '{' {
		return false
	}
	seen := 0
	for name, value := range jsonrpc.Each(text) {
		bit, ok := member(name, value)
		if !ok || seen&(1<<bit) != 0 {
			return false
		}
		seen |= 1 << bit
	}
	return true
}

func readText(value json.RawMessage, to *string) bool {
	if value[0] != '"' {
		return false
	}
	*to = jsonrpc.Unquoted(value)
	return true
}

func readFlag(value json.RawMessage, to *bool) bool {
	*to = value[0] == 't'
	return value[0] == 't' || value[0] == 'f'
}

func readRaw(value json.RawMessage, to *json.RawMessage) bool {
	*to = value
	return value[0] != 'n'
}
