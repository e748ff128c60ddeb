package toolset

import (
	"fmt"
	"strings"

	"ptyctl/session/keys"
)

// signalNumbers are the numbers of signals that POSIX fixes for kill.
var signalNumbers = map[string]string{"1": "HUP", "2": "INT", "3": "QUIT", "9": "KILL", "15": "TERM"}

// signalKeys are the keys for which a terminal sends a signal (termios(3): VINTR, VQUIT).
var signalKeys = map[string]string{"ctrl_c": "INT", "ctrl_backslash": "QUIT"}

// SignalNamed returns the name of a signal that is written with SIG before it, or as its number.
func SignalNamed(text string) string {
	text = strings.TrimPrefix(strings.ToUpper(strings.TrimSpace(text)), "SIG")
	if name, ok := signalNumbers[text]; ok {
		return name
	}
	return text
}

// SignalHint returns advice for a signal that is named like a key, such as ^C. typing returns the call that types a
// key. The advice is empty if text names no key.
func SignalHint(text string, typing func(key string, bytes []byte) string) string {
	key := keys.Meant(strings.TrimSpace(text))
	bytes, ok := keys.Bytes(key, false)
	if !ok {
		return ""
	}
	if signal, ok := signalKeys[key]; ok {
		return fmt.Sprintf("it is a key; use signal %q, or to type the key, call %s", signal, typing(key, bytes))
	}
	return "it is a key; to type it, call " + typing(key, bytes)
}
