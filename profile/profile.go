package profile

import (
	"regexp"
	"slices"
	"strings"
)

// A Profile describes one family of devices.
type Profile struct {
	Name   string   `toml:"-"             json:"name"`
	About  string   `toml:"about"         json:"about"`          // vendor and systems, for people
	Note   string   `toml:"note"          json:"note,omitempty"` // what to know before typing
	Class  string   `toml:"class"         json:"class"`          // ClassDevice or ClassPosix
	Enter  string   `toml:"enter"         json:"enter"`          // the enter key over Telnet: auto, cr, crlf or lf
	Prompt *Pattern `toml:"prompt"        json:"prompt"`         // ready for the next command
	// ConfigPrompt is the prompt in configuration mode. Prompt must match it, too. Nil: the
	// family has no such mode.
	ConfigPrompt *Pattern  `toml:"config_prompt" json:"config_prompt,omitempty"`
	Pagers       []Pattern `toml:"pagers"        json:"pagers"` // a pager waits for a key
	Errors       []Pattern `toml:"errors"        json:"errors"` // the command was refused

	PagingOff   []string `toml:"paging_off"   json:"paging_off"` // commands that turn the pager off; empty: no pager
	Enable      string   `toml:"enable"       json:"enable,omitempty"`
	ConfigEnter string   `toml:"config_enter" json:"config_enter,omitempty"`
	ConfigLeave string   `toml:"config_leave" json:"config_leave,omitempty"`

	ShowConfig string     `toml:"show_config"   json:"show_config,omitempty"` // prints the running configuration
	Volatile   []Pattern  `toml:"volatile"      json:"volatile,omitempty"`    // what changes in it by itself; see Steady
	Trials     []Trial    `toml:"trials"        json:"trials,omitempty"`      // changes that undo themselves, the best one first
	Batch      *Batch     `toml:"batch"         json:"batch,omitempty"`       // nil: each line costs the same, however many there are
	Reload     string     `toml:"reload"        json:"reload,omitempty"`      // restarts the device; it asks, and ends the connection
	Questions  []Question `toml:"questions"     json:"questions,omitempty"`
	Sources    []string   `toml:"sources"       json:"sources"` // of the patterns and samples
}

// Classes of command lines.
const (
	ClassDevice = "device" // a network device: no shell, no exit codes
	ClassPosix  = "posix"
)

// A Pattern is a regular expression with sample lines.
type Pattern struct {
	Regex   *regexp.Regexp `toml:"regex"   json:"regex"`
	Matches []string       `toml:"matches" json:"matches"`
	Rejects []string       `toml:"rejects" json:"rejects"`
}

// A Batch makes one transaction of the lines between Begin and End, for a family that otherwise makes one of each line.
type Batch struct {
	Begin  string `toml:"begin"  json:"begin"` // typed in the configuration mode
	End    string `toml:"end"    json:"end"`
	Note   string `toml:"note"   json:"note"` // how the lines then count
	Source string `toml:"source" json:"source"`
}

// A Question is one that a device of the family asks before it acts.
type Question struct {
	Asks   string `toml:"asks"   json:"asks"`           // the last line that it shows, as far as the answer
	Kind   string `toml:"kind"   json:"kind,omitempty"` // of what it waits for; empty: yes or no
	Source string `toml:"source" json:"source"`
}

// Regexps returns the regular expressions of a list. The result is never nil, so that it
// is [] in JSON.
func Regexps(list []Pattern) []*regexp.Regexp {
	out := make([]*regexp.Regexp, len(list))
	for i, p := range list {
		out[i] = p.Regex
	}
	return out
}

// Get returns the profile with the given name. The caller must not change the shared
// values to which it points.
func Get(name string) (Profile, bool) {
	all := families()
	i, ok := slices.BinarySearchFunc(
		all,
		name,
		func(f family, name string) int { return strings.Compare(f.name, name) },
	)
	if !ok {
		return Profile{}, false
	}
	return all[i].profile(), true
}

// Names returns the names of all profiles, sorted.
func Names() []string {
	all := families()
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.name
	}
	return names
}
