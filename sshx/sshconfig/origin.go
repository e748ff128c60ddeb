package sshconfig

import "fmt"

// Source is the kind of place a value was read from.
type Source int

const (
	// ExtraArgs are the overrides of the call: -o, -J, -i and the like. It is
	// the zero value, because it is the least trusted source.
	ExtraArgs Source = iota
	// Argument is a field of the call itself: Options.User and Options.Port.
	Argument
	// CallerFile is the file a caller named (-F), or one that it includes.
	CallerFile
	// UserFile is the operator's ~/.ssh/config, or a file that it includes.
	UserFile
	// SystemFile is /etc/ssh/ssh_config, or a file that it includes.
	SystemFile
	// Default means that no source has set the keyword.
	Default
)

// String returns the name of s as messages use it.
func (s Source) String() string {
	switch s {
	case ExtraArgs:
		return "extra_args"
	case Argument:
		return "argument"
	case CallerFile:
		return "caller file"
	case UserFile:
		return "user file"
	case SystemFile:
		return "system file"
	case Default:
		return "default"
	}
	return fmt.Sprintf("Source(%d)", int(s))
}

// Origin says where a value was set. The zero Origin is the caller's extra_args.
type Origin struct {
	Source Source
	File   string // path of the file, empty unless Source is a file
	Line   int    // line in File, counted from 1
}

// Caller reports whether the value is under the control of the caller rather
// than of the operator of this machine.
func (o Origin) Caller() bool {
	switch o.Source {
	case UserFile, SystemFile, Default:
		return false
	}
	return true
}

// String returns "file:line", or the name of the source when it is no file.
func (o Origin) String() string {
	if o.File == "" {
		return o.Source.String()
	}
	return fmt.Sprintf("%s:%d", o.File, o.Line)
}

// Value is one element of a keyword that accumulates, such as IdentityFile.
type Value struct {
	Text   string
	Origin Origin
}

// Warning tells of something that was read but not acted on.
type Warning struct {
	Origin  Origin
	Keyword string // as written in the source; empty when the whole line is meant
	Text    string
	// Applies reports whether the line belongs to a block that matches the
	// evaluated host. A warning that does not apply matters to whoever edits
	// the file, not to this connection.
	Applies bool
}

// String returns "origin: keyword: text".
func (w Warning) String() string {
	if w.Keyword == "" {
		return fmt.Sprintf("%s: %s", w.Origin, w.Text)
	}
	return fmt.Sprintf("%s: %s: %s", w.Origin, w.Keyword, w.Text)
}

// Refusal is a setting in force for the evaluated host that this client does
// not, or may not, honour, and that cannot be ignored without connecting to
// another place or in another way than the configuration says.
type Refusal struct {
	Origin  Origin
	Keyword string // canonical spelling, as in ssh_config(5)
	Reason  string // what is wrong and what to do about it
}

// Error makes a Refusal usable as the error of the connection attempt.
func (r Refusal) Error() string {
	return fmt.Sprintf("%s: %s: %s", r.Origin, r.Keyword, r.Reason)
}
