package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ptyctl/term"
)

// InMilliseconds returns a hint that the caller may have given a timeout in seconds, or "" if that is improbable.
func InMilliseconds(field string, ms int64) string {
	if ms <= 0 || ms >= 1000 {
		return ""
	}
	return fmt.Sprintf("%s is in milliseconds, and these %d are over; %d s are %d", field, ms, ms, ms*1000)
}

// Hurried returns err with the hint of InMilliseconds, if the call has failed because its own timeout has passed.
func (c *Call) Hurried(err error) error {
	e, ok := errors.AsType[*term.Error](err)
	if !ok || !errors.Is(err, context.DeadlineExceeded) && e.Kind != term.ConnectTimeout {
		return err
	}
	text := ""
	for _, m := range c.args {
		switch {
		case m.Name == "timeout_ms" && e.Kind != term.ConnectTimeout:
			text = InMilliseconds(m.Name, wholeNumber(m.Value))
		case m.Name == "timeouts" && e.Kind == term.ConnectTimeout:
			var t struct {
				Connect json.RawMessage `json:"connect_timeout_ms"`
			}
			if json.Unmarshal(m.Value, &t) == nil {
				text = InMilliseconds(m.Name+".connect_timeout_ms", wholeNumber(t.Connect))
			}
		}
	}
	if text == "" {
		return err
	}
	said := *e
	said.Advice = ""
	said.Msg, said.Advice = said.Message()+"; "+text, e.Advice
	return &said
}

// wholeNumber returns a number, which may be written as a string; 0 for anything else.
func wholeNumber(value json.RawMessage) int64 {
	n, _ := strconv.ParseInt(strings.Trim(string(value), `"`), 10, 64)
	return n
}
