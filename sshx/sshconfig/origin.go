package sshconfig

import "fmt"

// Source is the kind of source of a value.
type Source int

const (
	// ExtraArgs are the overrides of the call, for example -o, -J or -i. It is the zero value,
	// because it is the least trusted source.
	ExtraArgs Source = iota
	// Argument is a field of the call itself: Options.User and Options.Port.
	Argument
	// CallerFile is the file that a caller named (-F), or one that it includes.
	CallerFile
	// UserFile is the operator's ~/.ssh/config, or a file that it includes.
	UserFile
	// SystemFile is /etc/ssh/ssh_config, or a file that it includes.
	SystemFile
	// Default means that no source has set the keyword.
	Default
)

// String returns the name of s for messages.
func (s Source) String() string {
	switch s {
	case ExtraArgs:
		return "extra arguments"
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

// Origin is the place where a value was set. The zero Origin is the caller's extra arguments.
type Origin struct {
	Source Source
	File   string // path of the file, empty unless Source is a file
	Line   int    // line in File, counted from 1
}

// Caller reports whether the caller controls the value, rather than the operator of this
// machine.
func (o Origin) Caller() bool {
	switch o.Source {
	case UserFile, SystemFile, Default:
		return false
	}
	return true
}

// String returns "file:line", or the name of a source that is not a file.
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

// Warning describes a line or value without effect.
type Warning struct {
	Origin  Origin
	Keyword string // as written in the source; empty for a whole line
	Text    string
	// Applies reports whether the line is in a block that matches the evaluated host. Other
	// warnings concern an editor of the file, not this connection.
	Applies bool
}

// String returns "origin: keyword: text".
func (w Warning) String() string {
	if w.Keyword == "" {
		return fmt.Sprintf("%s: %s", w.Origin, w.Text)
	}
	return fmt.Sprintf("%s: %s: %s", w.Origin, w.Keyword, w.Text)
}

// Refusal is a setting in force for the evaluated host that this client does not or must not
// honour. It cannot be ignored, because the connection would go to another place, or be made
// in another way, than the configuration says.
type Refusal struct {
	Origin  Origin
	Keyword string // canonical spelling, as in ssh_config(5)
	Reason  string // the problem and its solution
	Program bool   // Options.AllowExec would allow it
}

// Error lets a Refusal be the error of the connection attempt.
func (r Refusal) Error() string {
	return fmt.Sprintf("%s: %s: %s", r.Origin, r.Keyword, r.Reason)
}
