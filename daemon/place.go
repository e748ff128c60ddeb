package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Protocol is the number of the protocol between shims and daemons. A change that an older side cannot speak takes the
// next number, and with it another socket: a newer shim then starts a daemon of its own, and lists the sessions of the
// older one by AskList.
var Protocol = number(protocol)

// protocol is Protocol. It is text so that a test can have the program linked with another one.
var protocol = "1"

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		panic("daemon: the number of the protocol is " + text)
	}
	return n
}

// A Place is where the daemon of one configuration is reached, and the files beside its socket.
type Place struct {
	dir  string
	name string // with the protocol and the configuration; the files add their endings
}

// PlaceOf returns the place of the daemon with a configuration. It needs no daemon, and creates nothing.
func PlaceOf(e Engine) (Place, error) {
	dir, err := runtimeFolder()
	if err != nil {
		return Place{}, fmt.Errorf("no runtime folder for the daemon: %w; %s", err, folderAdvice)
	}
	return Place{dir: dir, name: prefix(Protocol) + e.Name()}, nil
}

// prefix is how the names of all daemons of a protocol begin.
func prefix(protocol int) string { return fmt.Sprintf("d-%d-", protocol) }

// Name is the name of the place, for the daemon that is started for it.
func (p Place) Name() string { return p.name }

// Socket is the path of the socket.
func (p Place) Socket() string { return filepath.Join(p.dir, p.name+".sock") }

// Log is the path of the log of a daemon that a shim has started.
func (p Place) Log() string { return filepath.Join(p.dir, p.name+".log") }

// lock is the path of the file that is locked while a daemon starts.
func (p Place) lock() string { return filepath.Join(p.dir, p.name+".lock") }

// Daemons returns the places with a socket of a daemon of this protocol, in the runtime folder. Their processes may
// have ended.
func Daemons() ([]Place, error) {
	dir, err := runtimeFolder()
	if err != nil {
		return nil, fmt.Errorf("no runtime folder for daemons: %w", err)
	}
	if _, err := os.ReadDir(dir); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return slices.DeleteFunc(inFolder(dir), func(p Place) bool { return p.Protocol() != Protocol }), nil
}

// OfOtherProtocols returns the places of daemons that speak another protocol, in the runtime folder. Their processes may
// have ended.
func OfOtherProtocols() []Place {
	dir, err := runtimeFolder()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(inFolder(dir), func(p Place) bool { return p.Protocol() == Protocol })
}

// A Setting is one value of the configuration of an engine. A secret is left out of the value.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// An Engine is the configuration that all clients of a daemon share: the values that are not the defaults.
type Engine []Setting

// Name returns a short name that differs where the settings do.
func (e Engine) Name() string {
	sum := sha256.New()
	for _, s := range e {
		fmt.Fprintf(sum, "%q=%q\n", s.Key, s.Value)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// Difference lists the settings that have other values in other, for a message; empty: no difference. It shows the
// first few.
func (e Engine) Difference(other Engine) string {
	values := make(map[string]string, len(other))
	for _, s := range other {
		values[s.Key] = s.Value
	}
	var parts []string
	for _, s := range e {
		if value, ok := values[s.Key]; !ok || value != s.Value {
			parts = append(parts, fmt.Sprintf("%s is %s here and %s there", s.Key, s.Value, orDefault(value)))
		}
		delete(values, s.Key)
	}
	for _, s := range other {
		if value, ok := values[s.Key]; ok {
			parts = append(parts, fmt.Sprintf("%s is the default here and %s there", s.Key, value))
		}
	}
	const shown = 5
	if more := len(parts) - shown; more > 0 {
		parts = append(slices.Clip(parts[:shown]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func orDefault(value string) string {
	if value == "" {
		return "the default"
	}
	return value
}
