package jsonrpc_test

import (
	"fmt"
	"strings"
	"testing"

	"ptyctl/mcpapi/jsonrpc"
)

// The id of a request, and only of a request, is found at any place, in parts of any size.
func TestIDFinder(t *testing.T) {
	long := `"params":{"id":9,"a":["\"id\":8,",{"id":7}],"b":"` + strings.Repeat(`\\`, 300) + `"}`
	for _, c := range []struct{ message, want string }{
		{`{"jsonrpc":"2.0","id":5,"method":"x",` + long + `}`, "5"},
		{`{"method":"x",` + long + `,"jsonrpc":"2.0","id":"a\"b"}`, `"a\"b"`},
		{`{ "id" : 12345678901234567891 , "method" : "x" , ` + long + ` }`, "12345678901234567891"},
		{`{"\u0069d":6,"method":"x",` + long + `}`, "6"},
		{`{"id":5,"method":"x",` + long, "5"}, // cut off
		{`{"id":5,"result":{"id":6}}`, ""},
		{`{"id":5,"id":6,"method":"x"}`, ""},
		{`{"id":null,"method":"x"}`, ""},
		{`{"id":{"id":1},"method":"x"}`, ""},
		{`{"id":[1],"method":"x"}`, ""},
		{`{"id":1.5,"method":"x"}`, ""},
		{`{"id":007,"method":"x"}`, ""},
		{`{"id":"` + strings.Repeat("x", 2000) + `","method":"x"}`, ""},
		{`{"method":"x",` + long + `}`, ""},
		{`[{"id":5,"method":"x"}]`, ""},
		{`"id":5`, ""},
		{`}}}{"id":5,"method":"x"}`, ""},
		{"", ""},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var f jsonrpc.IDFinder
			for rest := c.message; rest != ""; {
				part := rest[:min(size, len(rest))]
				fmt.Fprint(&f, part)
				rest = rest[len(part):]
			}
			if got := string(f.ID()); got != c.want {
				t.Errorf("ID of %.80q in parts of %d = %q, want %q", c.message, size, got, c.want)
			}
		}
	}
}

func FuzzIDFinder(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"x","params":{}}`))
	f.Add([]byte(`{"a":[`))
	f.Add([]byte(`{"\d":`)) // no JSON string
	f.Fuzz(func(t *testing.T, message []byte) {
		var finder jsonrpc.IDFinder
		if n, err := finder.Write(message); n != len(message) || err != nil {
			t.Errorf("Write(%q) = %d, %v; want all of it", message, n, err)
		}
		if id := finder.ID(); id != nil {
			if _, ok := jsonrpc.IDKey(id); !ok {
				t.Errorf("ID of %q = %q, which is none", message, id)
			}
		}
	})
}
