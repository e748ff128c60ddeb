package setup

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFormat is TOML, with each server in a table of its own.
type tomlFormat struct{}

// An expression is a header of a table, or a key with a value.
type expression struct {
	header bool
	key    []string // with the table's
	line   int
}

// expressions returns those of a text, in order.
func expressions(text []byte) (list []expression, err error) {
	var p unstable.Parser
	p.Reset(text)
	var table []string
	line, counted := 0, 0
	for p.NextExpression() {
		e := p.Expression()
		x := expression{header: e.Kind != unstable.KeyValue}
		keys := e.Key()
		for first := true; keys.Next(); first = false {
			x.key = append(x.key, string(keys.Node().Data))
			if first {
				at := int(keys.Node().Raw.Offset)
				line, counted = line+bytes.Count(text[counted:at], []byte("\n")), at
				x.line = line
			}
		}
		if x.header {
			table = x.key
		} else {
			x.key = slices.Concat(table, x.key)
		}
		list = append(list, x)
	}
	if err := p.Error(); err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	return list, nil
}

func (tomlFormat) read(text []byte, path []string, name string) (*written, error) {
	var in any = map[string]any{}
	if err := toml.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	for _, key := range append(slices.Clone(path), name) {
		table, ok := in.(map[string]any)
		if !ok {
			return nil, byHand("%s is no table", strings.Join(path, "."))
		}
		if in, ok = table[key]; !ok {
			return nil, nil
		}
	}
	fields, ok := in.(map[string]any)
	if !ok {
		return nil, byHand("%s.%s is no table", strings.Join(path, "."), name)
	}
	maps.DeleteFunc(fields, func(field string, _ any) bool { return !isField(field) })
	body, err := toml.Marshal(fields)
	if err != nil {
		return nil, err
	}
	var w written
	if err := toml.Unmarshal(body, &w); err != nil {
		return nil, byHand("%s.%s has another form: %v", strings.Join(path, "."), name, err)
	}
	return &w, nil
}

func (tomlFormat) others(text []byte, path []string, name string) (any, error) {
	all := map[string]any{}
	if err := toml.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("it is not TOML: %w", err)
	}
	without(all, path, name)
	return all, nil
}

// tables returns the first line of each table of the entry and the line that it ends before: first the entry's own, then
// those below it.
func tables(text []byte, path []string, name string) (list [][2]int, err error) {
	entry := append(slices.Clone(path), name)
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	l := split(text)
	for i, x := range all {
		inside := len(x.key) >= len(entry) && slices.Equal(x.key[:len(entry)], entry)
		if !inside && (x.header || !slices.Equal(x.key, path[:min(len(path), len(x.key))])) {
			continue
		}
		if !x.header {
			if len(list) == 0 { // inline, or by a key with dots
				return nil, byHand("%s is not written as the table [%s]", strings.Join(x.key, "."), strings.Join(entry, "."))
			}
			continue
		}
		next := len(l)
		for _, y := range all[i+1:] {
			if y.header {
				next = y.line
				break
			}
		}
		list = append(list, [2]int{x.line, l.end(x.line, next)})
		if len(list) == 1 && len(x.key) != len(entry) {
			return nil, byHand("the table [%s] comes before [%s]", strings.Join(x.key, "."), strings.Join(entry, "."))
		}
	}
	return list, nil
}

func (tomlFormat) put(text []byte, path []string, name string, value any) ([]byte, error) {
	there, err := tables(text, path, name)
	if err != nil {
		return nil, err
	}
	body, err := toml.Marshal(value)
	if err != nil {
		return nil, err
	}
	end := lineEnd(text)
	fields := strings.SplitAfter(strings.ReplaceAll(string(body), "\n", end), end)
	fields = fields[:len(fields)-1]
	if len(there) == 0 {
		out := string(text)
		if out != "" && !strings.HasSuffix(out, "\n") {
			out += end
		}
		if out != "" {
			out += end
		}
		return []byte(out + "[" + strings.Join(path, ".") + "." + name + "]" + end + strings.Join(fields, "")), nil
	}
	for _, field := range slices.Backward(fields) {
		if text, err = tomlField(text, append(slices.Clone(path), name), field); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// tomlField sets one line of a table: a key with its value.
func tomlField(text []byte, table []string, line string) ([]byte, error) {
	key := strings.TrimSpace(line[:strings.IndexByte(line, '=')])
	all, err := expressions(text)
	if err != nil {
		return nil, err
	}
	l := split(text)
	header := 0
	for i, x := range all {
		switch {
		case x.header && slices.Equal(x.key, table):
			header = x.line
		case slices.Equal(x.key, append(slices.Clone(table), key)):
			if !starts(key) {
				return text, nil
			}
			next := len(l)
			if i+1 < len(all) {
				next = all[i+1].line
			}
			return l.replaced(x.line, l.end(x.line, next), line), nil
		}
	}
	return l.replaced(header+1, header+1, line), nil
}

func (tomlFormat) drop(text []byte, path []string, name string) ([]byte, error) {
	there, err := tables(text, path, name)
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(there) {
		l := split(text)
		from, to := t[0], t[1]
		blank := func(i int) bool { return i >= 0 && (i >= len(l) || strings.TrimSpace(l[i]) == "") }
		if blank(from-1) && blank(to) { // one blank line is enough
			from--
		}
		text = l.replaced(from, to, "")
	}
	return text, nil
}
