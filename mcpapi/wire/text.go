package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"time"

	"ptyctl/mcpapi/jsonrpc"
)

// A Headed is a result that names a session in the first line of its text form.
type Headed interface{ SessionName() string }

// bodies are the members that hold output: the text form shows them below its first line, as they are.
var bodies = map[string]bool{"stdout": true, "stderr": true, "chunk": true, "data": true}

// Text returns the text form of a result: one line with the facts, in brackets, and then the output as it is. stderr
// comes last, under a line of its own; the first line has its length, so that output that looks like that line does not
// mislead a reader.
//
//	[web1-k3f9q2zd exit 1 2.3 s stderr 9 bytes]
//	out
//	[stderr]
//	no route
func Text(v any) ([]byte, error) {
	var head, body, errs bytes.Buffer
	if h, ok := v.(Headed); ok {
		head.WriteString(h.SessionName())
	}
	v = compacted(reflect.ValueOf(v)).Interface()
	if reflect.TypeOf(v).Kind() != reflect.Struct {
		return Compact(v)
	}
	for _, m := range members(reflect.ValueOf(v)) {
		if text, ok := bodyOf(m); ok {
			to := &body
			if m.name == "stderr" {
				to = &errs
				fmt.Fprintf(&head, " stderr %d bytes", len(text))
			}
			to.WriteString(text)
			continue
		}
		if err := addFact(&head, m); err != nil {
			return nil, err
		}
	}
	line := strings.TrimSpace(head.String())
	if line == "" {
		line = "done"
	}
	text := append([]byte("["+line+"]\n"), body.Bytes()...)
	if errs.Len() > 0 {
		if !bytes.HasSuffix(text, []byte("\n")) {
			text = append(text, '\n')
		}
		text = append(append(text, "[stderr]\n"...), errs.Bytes()...)
	}
	return text, nil
}

// bodyOf returns the text of a member that holds output.
func bodyOf(m member) (text string, ok bool) {
	switch {
	case !bodies[m.name]:
		return "", false
	case m.value.Type() == content:
		return m.value.Interface().(jsonrpc.Content).String(), true
	}
	return m.value.String(), m.value.Kind() == reflect.String
}

// addFact writes a member into the first line. JSON has no line breaks, so a value cannot end that line.
func addFact(head *bytes.Buffer, m member) error {
	switch m.name {
	case "session_id":
		if strings.HasPrefix(head.String(), m.value.String()) {
			return nil
		}
	case "exit_code":
		fmt.Fprintf(head, " exit %d", reflect.Indirect(m.value).Int())
		return nil
	case "duration_ms":
		d := time.Duration(m.value.Int()) * time.Millisecond
		fmt.Fprintf(head, " %.1f s", d.Seconds())
		return nil
	}
	fmt.Fprintf(head, " %s ", m.name)
	return compact(head, m.value)
}

// textOfFailure is the text form of a failure.
func textOfFailure(f Failure) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "[error %s", f.ErrorCode)
	if f.Retryable {
		b.WriteString(" retryable")
	}
	if details := f.Compact().(failureCompact).Details; details != nil {
		b.WriteString(" ")
		if err := compact(&b, reflect.ValueOf(details)); err != nil {
			return nil, err
		}
	}
	b.WriteString("]\n" + f.Message)
	return b.Bytes(), nil
}
