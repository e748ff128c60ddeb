package jsonrpc

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Want is a member to look for in a JSON object. Value stays nil until the member is found.
type Want struct {
	Name  string
	Value json.RawMessage
}

// Pick finds members of an object, which is valid JSON. It refuses a name that is given twice, or in other letter case:
// readers differ on the meaning of such an object, and a guard must not read it in its own way.
func Pick(object json.RawMessage, wants ...*Want) error {
	for _, m := range Split(object) {
		for _, w := range wants {
			switch {
			case m.Name == w.Name && w.Value != nil:
				return fmt.Errorf("%q is given twice; give it once", w.Name)
			case m.Name == w.Name:
				w.Value = m.Value
			case strings.EqualFold(m.Name, w.Name):
				return fmt.Errorf("%q is not a member of such an object; %q is", m.Name, w.Name)
			}
		}
	}
	return nil
}
